#pragma once

#include <cstdint>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// How the losses of the elements become the result: their mean, their sum, or all of them.
enum class Reduction : uint8_t { kMean, kSum, kNone };

// A loss is float32 also where its inputs are bfloat16 or float16 (and float64 where they are): a
// curve rounded to eight bits would show steps. Every result is a new tensor, of shape [] unless
// the reduction is kNone. The mean of nothing is NaN, as it is in PyTorch.

struct CrossEntropyOptions {
  double label_smoothing = 0;   // s below, in [0, 1]
  int64_t ignore_index = -100;  // rows with this target cost nothing and are not read
  Tensor class_weights = {};    // w below: [C], floating; 1 where absent. Has no gradient.
  Reduction reduction = Reduction::kMean;
};

// With log p = log_softmax(logits) along the last axis, C classes, and t the row's target,
//
//   loss = (1 - s) * w_t * -log p_t  +  s / C * sum_c w_c * -log p_c
//
// logits: [..., C], floating; targets: [...], int32 or int64. The mean divides by the sum of w_t
// over the rows that are not ignored; when all are, it is 0 / 0 = NaN (PyTorch's choice too) with
// zero gradients. A NaN or +inf in a row makes its loss NaN, and so do logits that are all -inf.
// The logits are read once; the backward keeps them and one number a row.
// Throws ShapeError, DTypeError and DeviceError for arguments that do not fit, ValueError for s
// outside [0, 1], IndexError for a target outside [0, C), AutogradError for weights that want a
// gradient.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

// (prediction - target)^2, of tensors of one shape. Both have gradients.
Tensor mse_loss(const Tensor& prediction, const Tensor& target,
                Reduction reduction = Reduction::kMean);

struct BinaryCrossEntropyOptions {
  Tensor pos_weight = {};  // p below, broadcast to the logits; 1 where absent
  Tensor weight = {};      // w below, broadcast to the logits; 1 where absent
  Reduction reduction = Reduction::kMean;
};

// -w * (p * t * log σ(x) + (1 - t) * log(1 - σ(x))) for logits x and targets t in [0, 1], both
// logarithms without forming σ(x), so that no logit is too large. The mean divides by the number of
// elements, whatever the weights. Only the logits have a gradient.
// Throws ShapeError, DTypeError and DeviceError for arguments that do not fit, AutogradError for
// targets or weights that want a gradient.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets,
                                        const BinaryCrossEntropyOptions& options = {});

}  // namespace glassformer
