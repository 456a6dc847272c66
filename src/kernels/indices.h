#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/check.h"
#include "kernels/access.h"

namespace glassformer {

// Throws IndexError for the first of `indices` (int64, contiguous, in host memory) that is neither
// in [0, limit) nor equal to `ignored`, with its place and its value. For kernels, before they use
// any.
inline void check_indices(const char* op, const char* argument, const Tensor& indices,
                          int64_t limit, std::optional<int64_t> ignored = std::nullopt) {
  const int64_t* values = input<int64_t>(indices);
  for (int64_t i = 0; i < indices.count(); ++i) {
    if (values[i] >= 0 && values[i] < limit) [[likely]]
      continue;
    if (values[i] == ignored) continue;
    Dims place = indices.shape();
    int64_t rest = i;
    for (int axis = place.rank() - 1; axis >= 0; --axis) {
      const int64_t size = place[axis];
      place[axis] = rest % size;
      rest /= size;
    }
    throw IndexError(fmt::format("{}: expected {} from 0 to {}, found {} at {}", op, argument,
                                 limit - 1, values[i], place.str()));
  }
}

}  // namespace glassformer
