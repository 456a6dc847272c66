#pragma once

#include <cstdint>
#include <string>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// How a weight starts where nothing was trained yet.
struct Initial {
  enum class Kind : uint8_t { kZeros, kOnes, kNormal, kUniform };
  Kind kind = Kind::kZeros;
  double scale = 0;  // kNormal: the standard deviation; kUniform: from -scale to scale
};

// Where a layer's weights come from: a file, or a generator. Layers do not know which: loading a
// weight and initialising one are the same call.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual bool contains(const std::string& name) const = 0;
  // The weight called `name`. Throws FileError where it is missing or has another shape.
  virtual Tensor get(const std::string& name, const Shape& shape, const Initial& initial) = 0;
};

}  // namespace glassformer
