#pragma once

#include <string>

#include "glassformer/glassformer.h"
#include "support/fixture.h"

namespace glassformer::testing {

// A fixture's tensor on `device`. Floating ones become `dtype`; integers and booleans stay int64
// and bool.
inline Tensor fixture_tensor(const Fixture& fixture, const std::string& name,
                             DType dtype = DType::kFloat32, Device device = Device::kCpu) {
  const Shape shape{std::span<const int64_t>(fixture.shape(name))};
  const Tensor values = from_vector(fixture.doubles(name), shape);
  if (fixture.dtype(name) == "I64") dtype = DType::kInt64;
  if (fixture.dtype(name) == "BOOL") dtype = DType::kBool;
  return to(cast(values, dtype), device);
}

}  // namespace glassformer::testing
