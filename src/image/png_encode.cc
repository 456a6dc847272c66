#include <png.h>

#include "base/check.h"
#include "image/codec.h"
#include "image/png_error.h"

namespace glassformer {
namespace {

struct PngWriter {
  PngWriter() = default;
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  void write(const uint8_t* pixels, int64_t width, int64_t height, int channels) {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &error, on_png_error, on_png_warning);
    if (png == nullptr) error.jump("libpng does not start");
    info = png_create_info_struct(png);
    if (info == nullptr) error.jump("not enough memory");
    png_set_write_fn(png, &file, append, nullptr);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8,
                 channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int64_t y = 0; y < height; ++y) png_write_row(png, pixels + y * width * channels);
    png_write_end(png, info);
  }

  // The exception must not travel through libpng; it becomes an error of libpng's.
  static void append(png_structp png, png_bytep from, size_t bytes) {
    if (!grow(*static_cast<std::vector<std::byte>*>(png_get_io_ptr(png)), from, bytes))
      png_error(png, "not enough memory");
  }
  static bool grow(std::vector<std::byte>& file, const uint8_t* from, size_t bytes) {
    try {
      const auto* begin = reinterpret_cast<const std::byte*>(from);
      file.insert(file.end(), begin, begin + bytes);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  CodecError error;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::vector<std::byte> file;
};

}  // namespace

std::vector<std::byte> encode_png(std::span<const uint8_t> pixels, int64_t width, int64_t height,
                                  int channels) {
  require<ValueError>(channels == 1 || channels == 3,
                      "encode_png: expected 1 or 3 channels, found {}", channels);
  check_sides("encode_png", width, height);
  require<ValueError>(pixels.size() == static_cast<size_t>(width * height * channels),
                      "encode_png: expected {} x {} x {} bytes, found {}", width, height, channels,
                      pixels.size());
  PngWriter writer;
  const bool written =
      succeeds(writer.error, [&] { writer.write(pixels.data(), width, height, channels); });
  require<Error>(written, "encode_png: {}", writer.error.text.data());
  return std::move(writer.file);
}

}  // namespace glassformer
