#include <cstring>

#include <png.h>

#include "base/check.h"
#include "image/codec.h"
#include "image/png_error.h"

namespace glassformer {
namespace {

// Deflate's best: a match of 258 bytes in two bits.
constexpr int64_t kBytesPerByte = 1032;

class PngReader {
 public:
  PngReader(std::span<const std::byte> file, std::string_view name) : left_(file), name_(name) {}
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Image read() {
    const size_t file_bytes = left_.size();
    check(succeeds(error_, [this] { read_header(); }));
    Image image = promised_image(name_, width_, height_, file_bytes, kBytesPerByte * 8 / bits_);
    std::vector<png_bytep> rows(height_);
    for (size_t y = 0; y < rows.size(); ++y) rows[y] = image.row(static_cast<int64_t>(y));
    check(succeeds(error_, [this, &rows] {
      png_read_image(png_, rows.data());
      png_read_end(png_, nullptr);
    }));
    if (grey16_)
      for (png_bytep row : rows) widen_grey16(row);
    return image;
  }

 private:
  void check(bool succeeded) const {
    require<FileError>(succeeded, "{}: expected a sound PNG image, found: {}", name_,
                       error_.text.data());
  }

  void read_header() {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &error_, on_png_error, on_png_warning);
    if (png_ == nullptr) error_.jump("libpng does not start");
    info_ = png_create_info_struct(png_);
    if (info_ == nullptr) error_.jump("not enough memory");
    png_set_read_fn(png_, &left_, take);
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // promised_image has ours
    png_read_info(png_, info_);
    width_ = png_get_image_width(png_, info_);
    height_ = png_get_image_height(png_, info_);
    const int depth = png_get_bit_depth(png_, info_);
    bits_ = depth * png_get_channels(png_, info_);
    grey16_ = depth == 16 && png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY;
    if (!grey16_) {
      png_set_palette_to_rgb(png_);
      png_set_expand_gray_1_2_4_to_8(png_);
      png_set_strip_16(png_);
      png_set_gray_to_rgb(png_);
      png_set_strip_alpha(png_);
    }
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != size_t{width_} * (grey16_ ? 2 : 3))
      error_.jump("rows of an unexpected length");
  }

  // Two bytes of grey become three of RGB in place, so from the end. Pillow cuts off at 255.
  void widen_grey16(png_bytep row) const {
    for (size_t x = width_; x-- > 0;) {
      const uint8_t grey = row[2 * x] != 0 ? 255 : row[2 * x + 1];
      std::memset(row + 3 * x, grey, 3);
    }
  }

  static void take(png_structp png, png_bytep to, size_t bytes) {
    auto& left = *static_cast<std::span<const std::byte>*>(png_get_io_ptr(png));
    if (bytes > left.size()) png_error(png, "the file ends too early");
    std::memcpy(to, left.data(), bytes);
    left = left.subspan(bytes);
  }

  std::span<const std::byte> left_;
  std::string_view name_;
  CodecError error_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  png_uint_32 width_ = 0;
  png_uint_32 height_ = 0;
  int bits_ = 0;  // a pixel, in the file
  bool grey16_ = false;
};

}  // namespace

Image decode_png(std::span<const std::byte> file, std::string_view name) {
  return PngReader(file, name).read();
}

}  // namespace glassformer
