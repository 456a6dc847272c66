#pragma once

#include <string>
#include <utility>
#include <vector>

#include "glassformer/tensor/stored_tensors.h"
#include "glassformer/tensor/weight_source.h"
#include "models/names.h"

namespace glassformer {

// A checkpoint's tensors under our names. Tensors that are already as wanted are not copied.
class LoadedWeights : public WeightSource {
 public:
  LoadedWeights(const StoredTensors& stored, const NameMap& names, TensorOptions options)
      : stored_(stored), names_(names), options_(options) {}

  bool contains(const std::string& name) const override;
  Tensor get(const std::string& name, const Shape& shape, const Initial& initial) override;

 private:
  const StoredTensors& stored_;
  const NameMap& names_;
  TensorOptions options_;
};

// The stored tensors of parameters under our names: the other way round. `parameters` with one
// stored name are parts of it.
std::vector<std::pair<std::string, Tensor>> stored_parameters(
    const std::vector<std::pair<std::string, Tensor>>& parameters, const NameMap& names);

}  // namespace glassformer
