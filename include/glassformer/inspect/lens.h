#pragma once

#include "glassformer/models/model.h"

namespace glassformer {

// The logit lens (nostalgebraist 2020): what the model would say if a layer were its last. `hidden`
// is what a layer of the last stack gave ("decoder.3.block"), [batch, length, width]; it goes
// through the stack's final norm, where there is one, and the head. With the last layer's, these
// are the model's own logits, bit for bit. Undefined for a model without logits.
Tensor logit_lens(const Model& model, const Tensor& hidden);

}  // namespace glassformer
