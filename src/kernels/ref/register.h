#pragma once

#include "kernels/table.h"

// The ops of this backend, one line each: X(name) stands for ref/name.cc and its register_name().
#define GLASSFORMER_REF_KERNELS(X) \
  X(activation)                    \
  X(arithmetic)                    \
  X(attention)                     \
  X(batch_norm)                    \
  X(cached_attention)              \
  X(copy)                          \
  X(cross_entropy)                 \
  X(dropout)                       \
  X(embedding)                     \
  X(gather)                        \
  X(linear)                        \
  X(norm)                          \
  X(patches)                       \
  X(pointwise)                     \
  X(pointwise_loss)                \
  X(positions)                     \
  X(quantised)                     \
  X(random)                        \
  X(reduce)                        \
  X(relative_positions)            \
  X(rotary)                        \
  X(softmax)                       \
  X(update)

namespace glassformer::ref {

// Each adds one op's naive kernels under `device`: to `ref`, and to another host device as the
// fallback for the dtypes that it has no kernel of its own for. They work in float32 and float64.
#define GLASSFORMER_DECLARE(name) void register_##name(Device device);
GLASSFORMER_REF_KERNELS(GLASSFORMER_DECLARE)
#undef GLASSFORMER_DECLARE

void register_all(Device device);

// Adds a kernel's two instances.
template <class... Args>
void add_both(const Kernel<void(Args...)>& kernel, Device device,
              std::type_identity_t<void (*)(Args...)> float32,
              std::type_identity_t<void (*)(Args...)> float64) {
  add_kernel(kernel, device, DType::kFloat32, float32);
  add_kernel(kernel, device, DType::kFloat64, float64);
}

}  // namespace glassformer::ref
