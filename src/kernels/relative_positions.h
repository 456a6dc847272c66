#pragma once

#include "kernels/table.h"

namespace glassformer {

// y[h, i, j] = slopes[h] (j - i - offset); slopes [H], y [H, Tq, Tk], contiguous.
inline constexpr Kernel<void(const Tensor& slopes, const Tensor& y, int64_t offset)> kAlibiBias{
    "alibi_bias"};

// y[i, j] = by_distance[j - i + Tq - 1]; y [Tq, Tk], by_distance [Tq + Tk - 1]; int64, contiguous.
inline constexpr Kernel<void(const Tensor& by_distance, const Tensor& y)> kToeplitz{"toeplitz"};

// table, dtable [buckets, H]; indices [Tq, Tk] int64; y, dy [H, Tq, Tk]; all contiguous.
// y[h, i, j] = table[indices[i, j], h]. Throws IndexError for an index outside the table.
inline constexpr Kernel<void(const Tensor& table, const Tensor& indices, const Tensor& y)>
    kRelativeBias{"relative_bias"};
// dtable[b, h] = sum of dy[h, i, j] over indices[i, j] = b.
inline constexpr Kernel<void(const Tensor& dy, const Tensor& indices, const Tensor& dtable)>
    kRelativeBiasBackward{"relative_bias_backward"};

}  // namespace glassformer
