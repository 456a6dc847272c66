#include "glassformer/image/image.h"

#include <algorithm>
#include <array>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/mapped_file.h"
#include "image/codec.h"

namespace glassformer {
namespace {

bool starts_with(std::span<const std::byte> file, std::span<const uint8_t> magic) {
  return file.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), file.begin(),
                    [](uint8_t a, std::byte b) { return std::byte{a} == b; });
}

bool fits(int64_t width, int64_t height) {
  return width > 0 && height > 0 && width <= kMaxPixels / height;
}

}  // namespace

void check_sides(const char* what, int64_t width, int64_t height) {
  require<ValueError>(fits(width, height),
                      "{}: expected positive sides and at most {} pixels, found {} x {}", what,
                      kMaxPixels, width, height);
}

Image::Image(int64_t width, int64_t height) : width(width), height(height) {
  check_sides("image", width, height);
  pixels.resize(static_cast<size_t>(width * height * 3));
}

Image promised_image(std::string_view name, int64_t width, int64_t height, size_t file_bytes,
                     int64_t pixels_per_byte) {
  require<FileError>(fits(width, height),
                     "{}: expected an image of at most {} pixels, found {} x {}", name, kMaxPixels,
                     width, height);
  require<FileError>(width * height / pixels_per_byte <= static_cast<int64_t>(file_bytes),
                     "{}: expected an image of {} x {}, found a file of {} bytes, too few for it",
                     name, width, height, file_bytes);
  return {width, height};
}

Image decode_image(std::span<const std::byte> file, std::string_view name) {
  constexpr std::array<uint8_t, 8> kPng{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  constexpr std::array<uint8_t, 3> kJpeg{0xFF, 0xD8, 0xFF};
  if (starts_with(file, kPng)) return decode_png(file, name);
  if (starts_with(file, kJpeg)) return decode_jpeg(file, name);
  throw FileError(fmt::format("{}: expected a PNG or JPEG image, found {}", name,
                              file.empty() ? "an empty file" : "other content"));
}

Image read_image(const std::filesystem::path& path) {
  const MappedFile file(path);
  return decode_image({file.data(), file.bytes()}, path.string());
}

std::vector<std::byte> encode_png(const Image& image) {
  return encode_png(image.pixels, image.width, image.height, 3);
}

void write_png(const std::filesystem::path& path, const Image& image) {
  const std::vector<std::byte> bytes = encode_png(image);
  AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace glassformer
