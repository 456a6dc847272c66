#pragma once

#include "kernels/table.h"

namespace glassformer {

// y = sum of x over the axes that y (broadcastable to x's shape) has of size 1; both contiguous.
inline constexpr Kernel<void(const Tensor& x, const Tensor& y)> kSumTo{"sum_to"};

// Rows [rows, width] contiguous, width >= 1 → values [rows], indices [rows] (int64).
inline constexpr Kernel<void(const Tensor& x, const Tensor& values, const Tensor& indices)>
    kMaxOfRows{"max"};
// dx[row, indices[row]] = dy[row], 0 elsewhere.
inline constexpr Kernel<void(const Tensor& dy, const Tensor& indices, const Tensor& dx)>
    kMaxOfRowsBackward{"max_backward"};

}  // namespace glassformer
