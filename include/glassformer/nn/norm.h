#pragma once

#include "glassformer/nn/weights.h"

namespace glassformer {

struct NormSpec {
  enum class Kind : uint8_t { kLayer, kRms };
  Kind kind = Kind::kLayer;
  double epsilon = 1e-5;
  bool bias = true;  // of a LayerNorm
};

// LayerNorm or RMSNorm over the last axis; weights `weight` and `bias`, both [width].
class Norm {
 public:
  Norm(const Weights& weights, int64_t width, const NormSpec& spec);
  Tensor operator()(const Tensor& x) const;

 private:
  NormSpec spec_;
  Tensor weight_, bias_;
};

}  // namespace glassformer
