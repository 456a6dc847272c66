#include "glassformer/nn/random_weights.h"

#include "glassformer/ops/create.h"

namespace glassformer {
namespace {

// FNV-1a: spelled out, since the bits of a training run must not depend on the standard library.
uint64_t hash(const std::string& text) {
  uint64_t value = 14695981039346656037u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return value;
}

Tensor start(const Shape& shape, const Initial& initial, RandomKey key, TensorOptions options) {
  switch (initial.kind) {
    case Initial::Kind::kZeros: return zeros(shape, options);
    case Initial::Kind::kOnes: return ones(shape, options);
    case Initial::Kind::kNormal: return random_normal(shape, key, 0, initial.scale, options);
    case Initial::Kind::kUniform:
      return random_uniform(shape, key, -initial.scale, initial.scale, options);
  }
  return {};
}

}  // namespace

Tensor RandomWeights::get(const std::string& name, const Shape& shape, const Initial& initial) {
  return start(shape, initial, {seed_, hash(name)}, options_).set_requires_grad();
}

}  // namespace glassformer
