#pragma once

#include <optional>

#include "glassformer/nn/weights.h"
#include "glassformer/ops/linear.h"

namespace glassformer {

struct LinearSpec {
  int64_t in = 0, out = 0;
  bool bias = true;
  Initial initial = {};
};

// y = x · weightᵀ + bias; weights `weight` [out, in] and `bias` [out].
class Linear {
 public:
  Linear(const Weights& weights, const LinearSpec& spec);
  // Over weights that something else holds; bias may be undefined.
  Linear(Tensor weight, Tensor bias, bool pack);
  // One layer that computes several at once, their results next to each other: one pass over x.
  static Linear fused(const std::vector<const Linear*>& layers);

  Tensor operator()(const Tensor& x, const LinearOptions& options = {}) const;
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }

 private:
  Tensor weight_, bias_;
  std::optional<PackedWeight> packed_;
};

}  // namespace glassformer
