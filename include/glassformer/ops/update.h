#pragma once

#include "glassformer/tensor/update.h"

namespace glassformer {

// How optimisers change a parameter w by its gradient g, in place and off the tape, in one pass
// over memory. All arithmetic is float32 (float64 where the parameter is). Each throws ShapeError,
// DTypeError, DeviceError or ValueError for tensors that are missing or do not fit.

// g += λ w;  m = μ m + g;  w −= η (nesterov ? g + μ m : m). Without `first`: w −= η g.
void sgd_update(const UpdateTensors& tensors, const SgdUpdate& update);

// decoupled (AdamW): w −= η λ w;  otherwise (Adam): g += λ w
// m = β₁ m + (1 − β₁) g;  v = β₂ v + (1 − β₂) g²
// w −= η · (m / (1 − β₁ᵗ)) / (sqrt(v / (1 − β₂ᵗ)) + ε), for step t, from 1.
void adam_update(const UpdateTensors& tensors, const AdamUpdate& update);

// w −= η λ w;  w −= η sign(β₁ m + (1 − β₁) g);  m = β₂ m + (1 − β₂) g.
void lion_update(const UpdateTensors& tensors, const LionUpdate& update);

// Σ x² of a floating tensor, summed in an order of its own.
double sum_of_squares(const Tensor& x);

}  // namespace glassformer
