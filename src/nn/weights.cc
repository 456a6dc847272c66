#include "glassformer/nn/weights.h"

namespace glassformer {

Weights Weights::operator/(const std::string& name) const {
  Weights below = *this;
  below.place_ = place_.empty() ? name : place_ + "." + name;
  return below;
}

Weights Weights::unpacked() const {
  Weights same = *this;
  same.pack_ = false;
  return same;
}

std::string Weights::full_name(const char* name) const {
  return place_.empty() ? name : place_ + "." + name;
}

bool Weights::contains(const char* name) const { return source_->contains(full_name(name)); }

Tensor Weights::get(const char* name, const Shape& shape, const Initial& initial) const {
  std::string full = full_name(name);
  Tensor value = source_->get(full, shape, initial);
  parameters_->push_back({std::move(full), value});
  return value;
}

WeightMatrix Weights::matrix(const char* name, const Shape& shape, const Initial& initial) const {
  std::string full = full_name(name);
  WeightMatrix value = source_->matrix(full, shape, initial);
  parameters_->push_back({std::move(full), value.tensor, value.quantised, true});
  return value;
}

}  // namespace glassformer
