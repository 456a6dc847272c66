#pragma once

#include <optional>

#include "glassformer/nn/context.h"
#include "glassformer/nn/weights.h"
#include "glassformer/ops/linear.h"

namespace glassformer {

struct LinearSpec {
  int64_t in = 0, out = 0;
  bool bias = true;
  Initial initial = {};
};

// y = x · weightᵀ + bias; weights `weight` [out, in] and `bias` [out]. Where the source trains a
// low-rank pair beside the weight, y = x · weightᵀ + bias + scale · (dropout(x) · aᵀ) · bᵀ.
class Linear {
 public:
  Linear(const Weights& weights, const LinearSpec& spec);
  // Over weights that something else holds; bias may be undefined.
  Linear(WeightMatrix weight, Tensor bias, bool pack);
  // One layer that computes several at once, their results next to each other: one pass over x.
  static Linear fused(const std::vector<const Linear*>& layers);

  Tensor operator()(const Tensor& x, const LinearOptions& options = {},
                    const Context& context = {}) const;
  // Whether a call in training draws random numbers.
  bool drops() const { return low_rank_.dropout > 0; }

 private:
  static PackedWeight joined_weight(const std::vector<const Linear*>& layers);
  static Tensor joined_bias(const std::vector<const Linear*>& layers);
  // The numbers of the weight, for gradients and where nothing is packed.
  Tensor plain_weight() const;
  Tensor with_low_rank(const Tensor& x, const LinearOptions& options, const Context& context) const;

  WeightMatrix weight_;
  LowRank low_rank_;
  Tensor bias_;
  std::optional<PackedWeight> packed_;
};

}  // namespace glassformer
