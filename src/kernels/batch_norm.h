#pragma once

#include "kernels/table.h"

namespace glassformer {

// x, dy, y, dx [N, C, S] contiguous; weight, bias, dweight, dbias [C], absent where not wanted.
// mean, variance, rstd [C] are float32, or float64 where x is.
//
// Over the N·S elements of each channel: mean, and variance = sum (x - mean)^2 / (N S).
inline constexpr Kernel<void(const Tensor& x, const Tensor& mean, const Tensor& variance)>
    kBatchNormStatistics{"batch_norm_statistics"};
// rstd = 1 / sqrt(variance + epsilon), y = (x - mean) rstd weight + bias
inline constexpr Kernel<void(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const Tensor& mean, const Tensor& variance, const Tensor& y,
                             const Tensor& rstd, double epsilon)>
    kBatchNorm{"batch_norm"};
// With h = (x - mean) rstd: dbias = sum dy, dweight = sum dy h, and
//   dx = weight rstd dy, less, where the statistics are the batch's own,
//        weight rstd (dbias + h dweight) / (N S)
inline constexpr Kernel<void(const Tensor& dy, const Tensor& x, const Tensor& weight,
                             const Tensor& mean, const Tensor& rstd, const Tensor& dx,
                             const Tensor& dweight, const Tensor& dbias, bool own_statistics)>
    kBatchNormBackward{"batch_norm_backward"};

}  // namespace glassformer
