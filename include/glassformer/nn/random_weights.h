#pragma once

#include <cstdint>

#include "glassformer/tensor/weight_source.h"

namespace glassformer {

// Weights as training starts them. What a weight gets depends on the seed and its name alone, so
// adding a layer leaves the others as they were. Each asks for a gradient.
class RandomWeights : public WeightSource {
 public:
  explicit RandomWeights(uint64_t seed, TensorOptions options = {})
      : seed_(seed), options_(options) {}
  bool contains(const std::string&) const override { return true; }
  Tensor get(const std::string& name, const Shape& shape, const Initial& initial) override;

 private:
  uint64_t seed_;
  TensorOptions options_;
};

}  // namespace glassformer
