#pragma once

#include "kernels/table.h"

// The ops of this backend, one line each: X(name) stands for cpu/name.cc and its register_name().
#define GLASSFORMER_CPU_KERNELS(X) \
  X(activation)                    \
  X(arithmetic)                    \
  X(attention_backward)            \
  X(attention_forward)             \
  X(attention_weights)             \
  X(batch_norm)                    \
  X(cached_attention)              \
  X(copy)                          \
  X(cross_entropy)                 \
  X(dropout)                       \
  X(embedding)                     \
  X(gather)                        \
  X(linear)                        \
  X(linear_quantised)              \
  X(norm)                          \
  X(patches)                       \
  X(pointwise)                     \
  X(pointwise_loss)                \
  X(random)                        \
  X(reduce)                        \
  X(relative_positions)            \
  X(rotary)                        \
  X(softmax)                       \
  X(update)

namespace glassformer::cpu {

// Each adds one op's kernels for the dtypes it has; the naive ones stand in for the rest.
#define GLASSFORMER_DECLARE(name) void register_##name();
GLASSFORMER_CPU_KERNELS(GLASSFORMER_DECLARE)
#undef GLASSFORMER_DECLARE

}  // namespace glassformer::cpu
