#pragma once

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Over the last `axes` axes of x, taken together as n elements:
//   y = (x - mean) / sqrt(variance + epsilon) * weight + bias,  variance = sum (x - mean)^2 / n
// x: [..., N...], floating; weight, bias: [N...], the last `axes` sizes of x, of x's dtype; each
// may be undefined. A new tensor of x's shape. Half types are computed in float32 and rounded once.
// Throws ShapeError for sizes that do not fit or an empty row, DTypeError, DeviceError, and
// ValueError unless epsilon >= 0.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                  double epsilon = 1e-5, int axes = 1);

// The same, and what it was computed with. mean and rstd = 1 / sqrt(variance + epsilon) keep the
// normalised axes with size 1; they are float32 (float64 where x is) and carry no gradient.
struct LayerNormResult {
  Tensor output, mean, rstd;
};
LayerNormResult layer_norm_with_statistics(const Tensor& x, const Tensor& weight = {},
                                           const Tensor& bias = {}, double epsilon = 1e-5,
                                           int axes = 1);

// y = x / sqrt(sum x^2 / n + epsilon) * weight, over the last `axes` axes; as layer_norm otherwise.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double epsilon = 1e-6, int axes = 1);

}  // namespace glassformer
