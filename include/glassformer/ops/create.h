#pragma once

#include "glassformer/base/random.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

Tensor full(const Shape& shape, double value, TensorOptions options = {});
inline Tensor zeros(const Shape& shape, TensorOptions options = {}) {
  return full(shape, 0, options);
}
inline Tensor ones(const Shape& shape, TensorOptions options = {}) {
  return full(shape, 1, options);
}
inline Tensor zeros_like(const Tensor& like) { return zeros(like.shape(), like.options()); }

// Numbers of the field `key`, the same on every device: uniform in [low, high), or normal.
Tensor random_uniform(const Shape& shape, RandomKey key, double low = 0, double high = 1,
                      TensorOptions options = {});
Tensor random_normal(const Shape& shape, RandomKey key, double mean = 0, double deviation = 1,
                     TensorOptions options = {});

}  // namespace glassformer
