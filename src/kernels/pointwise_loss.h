#pragma once

#include "kernels/table.h"

namespace glassformer {

// Losses element by element. x, t and the weights: contiguous, of one shape and dtype, the weights
// undefined where they are all 1. y and dy are float32, or float64 with x. A y of x's shape takes
// the elements' losses times `scale`; a y of shape [] takes the sum of those.

// (x - t)^2
inline constexpr Kernel<void(const Tensor& x, const Tensor& t, const Tensor& y, double scale)> kMse{
    "mse_loss"};
// dx = dy * scale * 2 (x - t), with dy [] or of x's shape.
inline constexpr Kernel<void(const Tensor& x, const Tensor& t, const Tensor& dy, const Tensor& dx,
                             double scale)>
    kMseBackward{"mse_loss_backward"};

// w ((1 - t) log(1 + e^x) + p t log(1 + e^-x))
inline constexpr Kernel<void(const Tensor& x, const Tensor& t, const Tensor& p, const Tensor& w,
                             const Tensor& y, double scale)>
    kBinaryCrossEntropy{"binary_cross_entropy_with_logits"};
// dx = dy * scale * w ((1 - t) σ(x) - p t σ(-x))
inline constexpr Kernel<void(const Tensor& x, const Tensor& t, const Tensor& p, const Tensor& w,
                             const Tensor& dy, const Tensor& dx, double scale)>
    kBinaryCrossEntropyBackward{"binary_cross_entropy_with_logits_backward"};

}  // namespace glassformer
