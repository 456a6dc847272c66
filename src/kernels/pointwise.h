#pragma once

#include "kernels/table.h"

namespace glassformer {

enum class Unary : uint8_t { kExp, kLog, kSqrt, kSquare };

// y = op(x); contiguous.
inline constexpr Kernel<void(const Tensor& x, const Tensor& y, Unary op)> kUnary{"unary"};

// y = min(max(x, low), high), and dx = dy where low <= x <= high, otherwise 0; contiguous.
inline constexpr Kernel<void(const Tensor& x, const Tensor& y, double low, double high)> kClamp{
    "clamp"};
inline constexpr Kernel<void(const Tensor& x, const Tensor& dy, const Tensor& dx, double low,
                             double high)>
    kClampBackward{"clamp_backward"};

// y = condition ? a : b. All broadcast to y's shape, with any strides; y contiguous.
inline constexpr Kernel<void(const Tensor& a, const Tensor& b, const Tensor& condition,
                             const Tensor& y)>
    kWhere{"where"};

}  // namespace glassformer
