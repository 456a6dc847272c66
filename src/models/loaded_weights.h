#pragma once

#include <optional>
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
  // Without a dtype each keeps its own.
  LoadedWeights(const StoredTensors& stored, const NameMap& names, std::optional<DType> dtype,
                Device device)
      : stored_(stored), names_(names), dtype_(dtype), device_(device) {}

  bool contains(const std::string& name) const override;
  Tensor get(const std::string& name, const Shape& shape, const Initial& initial) override;

 private:
  const StoredTensors& stored_;
  const NameMap& names_;
  std::optional<DType> dtype_;
  Device device_;
};

// The stored tensors of parameters under our names: the other way round. `parameters` with one
// stored name are parts of it.
std::vector<std::pair<std::string, Tensor>> stored_parameters(
    const std::vector<std::pair<std::string, Tensor>>& parameters, const NameMap& names);

}  // namespace glassformer
