#include "kernels/patches.h"

#include <cstring>

#include "base/parallel.h"
#include "kernels/access.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/register.h"

namespace glassformer::cpu {
namespace {

// Rows of patches are short, 64 bytes for 16 floats: a copy of known size is one instruction where
// a call would take longer than the copying.
inline void copy_row(std::byte* to, const std::byte* from, size_t bytes) {
  switch (bytes) {
    case 32: std::memcpy(to, from, 32); break;
    case 64: std::memcpy(to, from, 64); break;
    case 128: std::memcpy(to, from, 128); break;
    default: std::memcpy(to, from, bytes);
  }
}

// move(address in image, address in patches, bytes) for every row of every patch; tasks are rows of
// patches, so that either side is touched by one thread only.
template <class F>
void for_rows(const Tensor& image_in, const Tensor& patches_in, PatchSize size, F&& move) {
  const int64_t channels = image_in.size(1), height = image_in.size(2), width = image_in.size(3);
  const int64_t down = height / size.height, across = width / size.width;
  const auto element = static_cast<int64_t>(size_of(image_in.dtype()));
  std::byte* image = image_in.storage()->data() + image_in.offset() * element;
  std::byte* patches = patches_in.storage()->data() + patches_in.offset() * element;
  const int64_t row = size.width * element, plane = size.height * row, patch = channels * plane;
  const auto work = [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t b = at / down, y = at % down * size.height;
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t i = 0; i < size.height; ++i) {
          std::byte* line = image + ((b * channels + c) * height + y + i) * width * element;
          std::byte* target = patches + at * across * patch + c * plane + i * row;
          for (int64_t x = 0; x < across; ++x)
            move(line + x * row, target + x * patch, static_cast<size_t>(row));
        }
    }
  };
  parallel_ranges(image_in.size(0) * down, row_grain(across * channels * size.height * size.width),
                  work);
}

void extract(const Tensor& image, const Tensor& patches, PatchSize size) {
  for_rows(image, patches, size,
           [](const std::byte* in_image, std::byte* in_patches, size_t bytes) {
             copy_row(in_patches, in_image, bytes);
           });
}

void assemble(const Tensor& patches, const Tensor& image, PatchSize size) {
  for_rows(image, patches, size,
           [](std::byte* in_image, const std::byte* in_patches, size_t bytes) {
             copy_row(in_image, in_patches, bytes);
           });
}

}  // namespace

void register_patches() {
  add_fast(kExtractPatches, extract);
  add_fast(kAssemblePatches, assemble);
}

}  // namespace glassformer::cpu
