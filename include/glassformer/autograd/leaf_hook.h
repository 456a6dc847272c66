#pragma once

#include <functional>

namespace glassformer {

struct GradientState;

// Hears of a leaf whose gradient is finished. It is known by its state: that of the tensor whose
// gradient_state() is the same.
using LeafHook = std::function<void(const GradientState* leaf)>;

}  // namespace glassformer
