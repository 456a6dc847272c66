#pragma once

#include <cstdint>

namespace glassformer {

// The elementwise functions between layers; ops/activation.h gives their formulas.
enum class Activation : uint8_t { kNone, kRelu, kGelu, kGeluTanh, kSilu, kSigmoid, kTanh };

const char* name_of(Activation activation);  // "none", "relu", "gelu", "gelu_tanh", ...

}  // namespace glassformer
