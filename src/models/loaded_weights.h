#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glassformer/models/model.h"
#include "glassformer/tensor/stored_tensors.h"
#include "glassformer/tensor/weight_source.h"
#include "models/names.h"
#include "models/quantization_config.h"

namespace glassformer {

struct WeightOptions {
  std::optional<DType> dtype;  // without one each tensor keeps its own
  Device device = Device::kCpu;
  std::optional<QuantizationConfig> quantization = {};  // of the matrices of safetensors
  bool int8_activations = false;                        // of quantised matrices
  bool matrices_as_stored = false;  // they lie in the type of the file: what is packed is converted
};

// A checkpoint's tensors under our names. Tensors that are already as wanted are not copied.
class LoadedWeights : public WeightSource {
 public:
  LoadedWeights(const StoredTensors& stored, const NameMap& names, WeightOptions options)
      : stored_(stored), names_(names), options_(options) {}

  bool contains(const std::string& name) const override;
  Tensor get(const std::string& name, const Shape& shape, const Initial& initial) override;
  WeightMatrix matrix(const std::string& name, const Shape& shape, const Initial& initial) override;

 private:
  // The first spelling of `name` that the file has.
  NameMap::Stored find(const std::string& name, const Shape& shape) const;
  // Our part of a stored tensor of numbers, where it lies.
  Tensor stored(const NameMap::Stored& spelling, const Shape& shape) const;
  // Our part of a stored matrix that is quantised, or an undefined one.
  QuantisedTensor quantised(const NameMap::Stored& stored, const Shape& shape) const;

  const StoredTensors& stored_;
  const NameMap& names_;
  WeightOptions options_;
};

// The stored tensors of parameters under our names: the other way round. Parameters with one stored
// name are parts of it. With `quantization` matrices become codes and scales, a row an output of
// their layer whatever the family's order, as they are of those that are quantised already (kInt8,
// kInt4); `progress` hears of every stored tensor.
using NamedTensor = std::pair<std::string, Tensor>;
std::vector<NamedTensor> stored_parameters(const std::vector<Parameter>& parameters,
                                           const NameMap& names,
                                           const std::optional<QuantizationConfig>& quantization,
                                           const SaveProgress& progress);

}  // namespace glassformer
