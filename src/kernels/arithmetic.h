#pragma once

#include "kernels/table.h"

namespace glassformer {

enum class Binary : uint8_t { kAdd, kSubtract, kMultiply, kDivide };

// y = a ∘ b. a and b broadcast to y's shape; any strides; y (contiguous) may be a's own memory.
inline constexpr Kernel<void(const Tensor& a, const Tensor& b, const Tensor& y, Binary op)> kBinary{
    "binary"};

// y = scale * x + shift; x of any strides, y contiguous, may be x's own memory.
inline constexpr Kernel<void(const Tensor& x, const Tensor& y, double scale, double shift)> kAffine{
    "affine"};

}  // namespace glassformer
