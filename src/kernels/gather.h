#pragma once

#include "kernels/table.h"

namespace glassformer {

// All contiguous; indices int64. Kernels check every index and throw IndexError.

// y[o, j, :] = x[o, ids[j], :]. x [outer, size, width], ids [count], y [outer, count, width].
inline constexpr Kernel<void(const Tensor& x, const Tensor& ids, const Tensor& y)> kSelectRows{
    "index_select"};
// dx[o, n, :] = sum of dy[o, j, :] over the j with ids[j] = n, in order.
inline constexpr Kernel<void(const Tensor& dy, const Tensor& ids, const Tensor& dx)>
    kSelectRowsBackward{"index_select_backward"};

// y[o, j, i] = x[o, index[o, j, i], i]. x [outer, size, width], index and y [outer, count, width].
inline constexpr Kernel<void(const Tensor& x, const Tensor& index, const Tensor& y)> kGather{
    "gather"};
// dx[o, n, i] = sum of dy[o, j, i] over the j with index[o, j, i] = n, in order.
inline constexpr Kernel<void(const Tensor& dy, const Tensor& index, const Tensor& dx)>
    kGatherBackward{"gather_backward"};

}  // namespace glassformer
