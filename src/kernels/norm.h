#pragma once

#include "kernels/table.h"

namespace glassformer {

// Rows [rows, width] of x, dy, y, dx, contiguous, width >= 1; weight, bias, dweight, dbias [width].
// mean and rstd [rows] are float32, or float64 where x is. weight and bias may be absent, and mean
// and rstd where they are results.
//
// mean = sum_j x_j / n, rstd = 1 / sqrt(sum_j (x_j - mean)^2 / n + epsilon)
// y_j = (x_j - mean) rstd weight_j + bias_j
inline constexpr Kernel<void(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const Tensor& y, const Tensor& mean, const Tensor& rstd,
                             double epsilon)>
    kLayerNorm{"layer_norm"};
// With h_j = (x_j - mean) rstd and g_j = dy_j weight_j:
//   dx_j = rstd (g_j - sum_k g_k / n - h_j sum_k g_k h_k / n)
//   dweight_j = sum over rows of dy_j h_j, dbias_j = sum over rows of dy_j
// Each of the three may be absent.
inline constexpr Kernel<void(const Tensor& dy, const Tensor& x, const Tensor& weight,
                             const Tensor& mean, const Tensor& rstd, const Tensor& dx,
                             const Tensor& dweight, const Tensor& dbias)>
    kLayerNormBackward{"layer_norm_backward"};

// rstd = 1 / sqrt(sum_j x_j^2 / n + epsilon), y_j = x_j rstd weight_j
inline constexpr Kernel<void(const Tensor& x, const Tensor& weight, const Tensor& y,
                             const Tensor& rstd, double epsilon)>
    kRmsNorm{"rms_norm"};
// With h_j = x_j rstd and g_j = dy_j weight_j:
//   dx_j = rstd (g_j - h_j sum_k g_k h_k / n), dweight_j = sum over rows of dy_j h_j
inline constexpr Kernel<void(const Tensor& dy, const Tensor& x, const Tensor& weight,
                             const Tensor& rstd, const Tensor& dx, const Tensor& dweight)>
    kRmsNormBackward{"rms_norm_backward"};

}  // namespace glassformer
