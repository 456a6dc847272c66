#include "glassformer/nn/weights.h"

#include <algorithm>

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
  parameters_->push_back({std::move(full), value, value.dtype()});
  return value;
}

WeightMatrix Weights::matrix(const char* name, const Shape& shape, const Initial& initial) const {
  std::string full = full_name(name);
  WeightMatrix value = source_->matrix(full, shape, initial);
  parameters_->push_back({std::move(full), value.tensor, value.dtype, value.quantised, true});
  return value;
}

LowRank Weights::low_rank(const Shape& shape) const {
  LowRank pair = source_->low_rank(full_name("weight"), shape);
  if (!pair.defined()) return pair;
  const bool listed =
      std::any_of(parameters_->begin(), parameters_->end(), [&](const Parameter& other) {
        return other.value.defined() && other.value.storage() == pair.a.storage();
      });
  if (!listed) parameters_->push_back({full_name("lora_a"), pair.a, pair.a.dtype()});
  parameters_->push_back({full_name("lora_b"), pair.b, pair.b.dtype()});
  return pair;
}

}  // namespace glassformer
