#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace glassformer {

// An image with more pixels is refused before its memory is asked for. Pillow's limit.
inline constexpr int64_t kMaxPixels = 178'956'970;

// 8-bit RGB: pixels is [height, width, 3], rows from the top, without padding.
struct Image {
  Image() = default;
  // Black. Throws ValueError unless both sides are positive and give at most kMaxPixels.
  Image(int64_t width, int64_t height);

  uint8_t* row(int64_t y) { return pixels.data() + y * width * 3; }
  const uint8_t* row(int64_t y) const { return pixels.data() + y * width * 3; }

  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> pixels;
};

// A PNG or JPEG file, told apart by its first bytes, as Pillow's open(file).convert("RGB") gives
// it: alpha is dropped without blending, colour profiles and orientation tags are not applied, 16
// bits a channel keep their high byte, except that grey of 16 bits without alpha is cut off at 255.
// Throws FileError, naming `name`, for any other file and for a damaged or truncated one.
Image decode_image(std::span<const std::byte> file, std::string_view name);
Image read_image(const std::filesystem::path& path);

// A PNG file of 8 bits a channel. `pixels` is [height, width, channels], channels 1 (grey) or 3
// (RGB). Throws ValueError for other sizes.
std::vector<std::byte> encode_png(std::span<const uint8_t> pixels, int64_t width, int64_t height,
                                  int channels);
std::vector<std::byte> encode_png(const Image& image);

// Writes the file whole or not at all. Throws FileError where it cannot be written.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace glassformer
