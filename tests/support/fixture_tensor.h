#pragma once

#include <string>

#include "glassformer/glassformer.h"
#include "support/fixture.h"

namespace glassformer::testing {

// A tensor of a fixture: floating ones as `dtype`, integers as int64, booleans as bool.
inline Tensor fixture_tensor(const Fixture& fixture, const std::string& name,
                             DType dtype = DType::kFloat32, Device device = Device::kCpu) {
  const Shape shape{std::span<const int64_t>(fixture.shape(name))};
  const Tensor values = from_vector(fixture.doubles(name), shape);
  const std::string& stored = fixture.dtype(name);
  const DType wanted = stored == "I64" ? DType::kInt64 : stored == "BOOL" ? DType::kBool : dtype;
  return to(cast(values, wanted), device);
}

}  // namespace glassformer::testing
