#pragma once

#include <string>
#include <vector>

#include "glassformer/tensor/weight_source.h"

namespace glassformer {

struct Parameter {
  std::string name;
  Tensor value;  // as its source has it; not defined where it is quantised
  DType dtype;   // that it is computed in
  QuantisedTensor quantised = {};
  bool matrix = false;  // multiplies, or is looked up row by row: it may be quantised
};

// The weights below one place of a model: `weights / "query"` are those of the layer's query. A
// layer's place is also the start of the names of its steps (see probe.h). Every weight handed out
// is listed in `parameters`.
class Weights {
 public:
  // With `pack`, layers keep a second form of their matrices for fast inference.
  Weights(WeightSource& source, std::vector<Parameter>& parameters, bool pack)
      : source_(&source), parameters_(&parameters), pack_(pack), pack_quantised_(pack) {}

  Weights operator/(const std::string& name) const;
  const std::string& place() const { return place_; }
  bool pack() const { return pack_; }
  // Quantised matrices have no other form to multiply in, and share it with layers that join them.
  bool pack_quantised() const { return pack_quantised_; }
  // The same place, for a layer whose matrices are packed together with others.
  Weights unpacked() const;

  bool contains(const char* name) const;
  Tensor get(const char* name, const Shape& shape, const Initial& initial) const;
  WeightMatrix matrix(const char* name, const Shape& shape, const Initial& initial) const;
  // Of the layer's matrix `weight`; listed as `lora_a` and `lora_b`. Layers may share an `a`.
  LowRank low_rank(const Shape& shape) const;

 private:
  std::string full_name(const char* name) const;

  WeightSource* source_;
  std::vector<Parameter>* parameters_;
  bool pack_, pack_quantised_;
  std::string place_;
};

}  // namespace glassformer
