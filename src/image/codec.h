#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>
#include <type_traits>

#include "glassformer/image/image.h"

namespace glassformer {

// Both throw FileError, naming `name`.
Image decode_png(std::span<const std::byte> file, std::string_view name);
Image decode_jpeg(std::span<const std::byte> file, std::string_view name);

// Throws ValueError, naming `what`, unless both sides are positive and give at most kMaxPixels.
void check_sides(const char* what, int64_t width, int64_t height);

// The black image that a file's header promises. Throws FileError for more than kMaxPixels, and for
// more than `pixels_per_byte` could ever hold: a few hostile bytes shall not cost half a gigabyte.
Image promised_image(std::string_view name, int64_t width, int64_t height, size_t file_bytes,
                     int64_t pixels_per_byte);

// libpng and libjpeg report an error by a long jump.
struct CodecError {
  std::jmp_buf back;
  std::array<char, 200> text{};

  [[noreturn]] void jump(const char* message) {
    std::snprintf(text.data(), text.size(), "%s", message);
    std::longjmp(back, 1);
  }
};

// Runs step(); false where it ended in error.jump(). The jump skips destructors, so a step, and all
// that it calls, holds nothing that has one: memory belongs to the caller.
template <class Step>
[[gnu::noinline]] bool succeeds(CodecError& error, Step step) {
  static_assert(std::is_trivially_destructible_v<Step>);
  if (setjmp(error.back) != 0) return false;
  step();
  return true;
}

}  // namespace glassformer
