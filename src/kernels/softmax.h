#pragma once

#include "kernels/table.h"

namespace glassformer {

// Rows [rows, width], contiguous. y_j = exp(x_j - max x) / sum_k exp(x_k - max x)
inline constexpr Kernel<void(const Tensor& x, const Tensor& y)> kSoftmax{"softmax"};
// dx_j = y_j (dy_j - sum_k y_k dy_k)
inline constexpr Kernel<void(const Tensor& y, const Tensor& dy, const Tensor& dx)> kSoftmaxBackward{
    "softmax_backward"};
// y_j = x_j - max x - log sum_k exp(x_k - max x)
inline constexpr Kernel<void(const Tensor& x, const Tensor& y)> kLogSoftmax{"log_softmax"};
// dx_j = dy_j - exp(y_j) sum_k dy_k
inline constexpr Kernel<void(const Tensor& y, const Tensor& dy, const Tensor& dx)>
    kLogSoftmaxBackward{"log_softmax_backward"};

}  // namespace glassformer
