#pragma once

#include "glassformer/tensor/tensor.h"

namespace glassformer {

struct BatchNormOptions {
  bool training = false;  // normalise with the batch's own statistics, and track them
  double momentum = 0.1;  // the share of the new statistics in the running ones
  double epsilon = 1e-5;
};

// y = (x - mean_c) / sqrt(variance_c + epsilon) * weight_c + bias_c for channel c, axis 1 of x.
// Training: mean and variance (biased) are the channel's over all other axes, and
//   running_mean += momentum (mean - running_mean), running_var likewise with the unbiased variance
// are changed in place. Otherwise they are the running ones.
// x: [N, C, ...], floating; weight, bias: [C], of x's dtype, each may be undefined;
// running_mean, running_var: [C], float32 (float64 where x is); both may be undefined in training.
// A new tensor of x's shape. Throws ShapeError for sizes that do not fit and for fewer than two
// elements a channel in training; DTypeError, DeviceError, ValueError.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormOptions& options = {});

}  // namespace glassformer
