#pragma once

#include "kernels/table.h"

namespace glassformer {

struct CrossEntropyRule {
  double label_smoothing;  // s
  int64_t ignore_index;
};

// logits x [rows, C], targets t int64 [rows], weights w [C] or undefined (all 1) → log_sum_exp
// [rows] = log sum_c exp(x_c) and losses [rows]
//   = (1 - s) w_t (log_sum_exp - x_t) + s / C * sum_c w_c (log_sum_exp - x_c)
// 0 for ignored rows. weights, log_sum_exp and losses are float32, or float64 with the logits.
// Throws IndexError for a target outside [0, C) that is not the ignored one.
inline constexpr Kernel<void(const Tensor& logits, const Tensor& targets, const Tensor& weights,
                             const Tensor& log_sum_exp, const Tensor& losses,
                             const CrossEntropyRule& rule)>
    kCrossEntropy{"cross_entropy"};

// loss [] = sum of losses / normalizer, normalizer [] = sum of w_t over the rows not ignored; with
// an undefined normalizer, the sum.
inline constexpr Kernel<void(const Tensor& losses, const Tensor& targets, const Tensor& weights,
                             const Tensor& loss, const Tensor& normalizer, int64_t ignore_index)>
    kCrossEntropyReduce{"cross_entropy_reduce"};

// dlogits_c = g (((1 - s) w_t + s / C * sum w) exp(x_c - log_sum_exp) - (1 - s) w_t [c = t] - s / C
// w_c) with g = dy / normalizer (1 where undefined) and dy [] or [rows]; 0 for ignored rows.
inline constexpr Kernel<void(const Tensor& logits, const Tensor& targets, const Tensor& weights,
                             const Tensor& log_sum_exp, const Tensor& normalizer, const Tensor& dy,
                             const Tensor& dlogits, const CrossEntropyRule& rule)>
    kCrossEntropyBackward{"cross_entropy_backward"};

}  // namespace glassformer
