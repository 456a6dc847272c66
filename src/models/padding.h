#pragma once

#include "glassformer/ops/attention.h"

namespace glassformer {

// What an attention must be told of a padding mask [batch, keys], 1 where a token is there: nothing
// where all are, lengths where each row is padded on the right, otherwise the mask itself. An
// undefined mask says nothing. Throws ShapeError unless the mask is [batch, keys].
AttentionOptions padding_of(const char* name, const Tensor& mask, int64_t batch, int64_t keys);

}  // namespace glassformer
