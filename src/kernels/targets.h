#pragma once

#include <string>

#include "base/check.h"
#include "kernels/access.h"

namespace glassformer {

// Where element `flat` of a contiguous tensor stands: "[1, 4]".
inline std::string position_of(int64_t flat, const Shape& shape) {
  Dims position = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    position[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return position.str();
}

// Throws IndexError, naming the first target (int64, contiguous) that is neither a class in
// [0, classes) nor the ignored one.
inline void check_targets(const char* op, const Tensor& targets, int64_t classes,
                          int64_t ignore_index) {
  const auto* t = input<int64_t>(targets);
  for (int64_t i = 0; i < targets.count(); ++i) {
    if ((t[i] >= 0 && t[i] < classes) || t[i] == ignore_index) continue;
    throw IndexError(
        fmt::format("{}: expected targets from 0 to {} (or {}, ignored), found {} at {}", op,
                    classes - 1, ignore_index, t[i], position_of(i, targets.shape())));
  }
}

}  // namespace glassformer
