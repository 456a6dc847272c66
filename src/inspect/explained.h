#pragma once

#include "glassformer/inspect/saliency.h"

namespace glassformer {

// The one logit that is explained, on the tape where the output is. Fills in what was left open.
// Throws ValueError or IndexError.
Tensor explained_logit(const TransformerOutput& output, Explained& what);

// Throws UnsupportedError, naming `op`, for a model with quantised weights.
void check_not_quantised(const char* op, const Model& model);

}  // namespace glassformer
