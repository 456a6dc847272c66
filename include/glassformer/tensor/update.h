#pragma once

#include <cstdint>
#include <optional>

#include "glassformer/base/random.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// What an optimiser changes a parameter w by, and what it keeps with it; ops/update.h has the
// rules.
struct UpdateTensors {
  Tensor parameter;    // w, floating
  Tensor gradient;     // g, like the parameter
  Tensor master = {};  // w in float32 where the parameter is a half type, which becomes it, rounded
  Tensor first = {};   // m, float32 (float64), like the parameter
  Tensor second = {};  // v, the same
};

struct UpdateCommon {
  double rate = 1e-3;                      // η
  double decay = 0;                        // λ
  double gradient_scale = 1;               // of g, before anything else
  std::optional<RandomKey> rounding = {};  // bfloat16 without a master: up or down by chance
};

struct SgdUpdate : UpdateCommon {
  double momentum = 0;  // μ
  bool nesterov = false;
};

struct AdamUpdate : UpdateCommon {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  bool decoupled = true;  // AdamW
  int64_t step = 1;       // t
};

struct LionUpdate : UpdateCommon {
  double beta1 = 0.9, beta2 = 0.99;
};

}  // namespace glassformer
