#pragma once

#include <string>
#include <vector>

#include "glassformer/tensor/weight_source.h"

namespace glassformer {

struct Parameter {
  std::string name;
  Tensor value;
};

// The weights below one place of a model: `weights / "query"` are those of the layer's query. A
// layer's place is also the start of the names of its steps (see probe.h). Every weight handed out
// is listed in `parameters`.
class Weights {
 public:
  // With `pack`, layers keep a second form of their matrices for fast inference.
  Weights(WeightSource& source, std::vector<Parameter>& parameters, bool pack)
      : source_(&source), parameters_(&parameters), pack_(pack) {}

  Weights operator/(const std::string& name) const;
  const std::string& place() const { return place_; }
  bool pack() const { return pack_; }
  // The same place, for a layer whose matrices are packed together with others.
  Weights unpacked() const;

  bool contains(const char* name) const;
  Tensor get(const char* name, const Shape& shape, const Initial& initial) const;

 private:
  std::string full_name(const char* name) const;

  WeightSource* source_;
  std::vector<Parameter>* parameters_;
  bool pack_;
  std::string place_;
};

}  // namespace glassformer
