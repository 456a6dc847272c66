#pragma once

#include "kernels/table.h"

namespace glassformer {

// to[i] = from[i], converted; same shape, any strides on both sides. Keyed by from's dtype.
inline constexpr Kernel<void(const Tensor& from, const Tensor& to)> kCopy{"copy"};

// to[i] = value, any strides.
inline constexpr Kernel<void(const Tensor& to, double value)> kFill{"fill"};

}  // namespace glassformer
