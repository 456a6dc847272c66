#pragma once

#include "kernels/table.h"

namespace glassformer {

// y [length, dim] contiguous. With a = (offset + t) / 10000^(2i / dim): sin a and cos a at 2i and
// 2i + 1 of row t, or, split, at i and i + (dim + 1) / 2.
inline constexpr Kernel<void(const Tensor& y, int64_t offset, bool split)> kSinusoidalPositions{
    "sinusoidal_positions"};

}  // namespace glassformer
