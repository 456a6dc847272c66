#pragma once

#include "kernels/table.h"

namespace glassformer {

struct PatchSize {
  int64_t height, width;
};

// image [B, C, R·height, S·width], patches [B, R·S, C·height·width], contiguous:
//   patches[b, r S + s, (c height + i) width + j] = image[b, c, r height + i, s width + j]
inline constexpr Kernel<void(const Tensor& image, const Tensor& patches, PatchSize size)>
    kExtractPatches{"extract_patches"};
// The same equation, read from right to left: the gradient.
inline constexpr Kernel<void(const Tensor& patches, const Tensor& image, PatchSize size)>
    kAssemblePatches{"assemble_patches"};

}  // namespace glassformer
