#pragma once

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// The address of a tensor's first element, for kernels that run in host memory (ref and cpu).
template <class T>
const T* input(const Tensor& tensor) {
  return reinterpret_cast<const T*>(tensor.storage()->data()) + tensor.offset();
}
template <class T>
T* output(const Tensor& tensor) {
  return reinterpret_cast<T*>(tensor.storage()->data()) + tensor.offset();
}

// A tensor as rows of its last axis: [rows, width].
inline int64_t width_of(const Tensor& tensor) { return tensor.rank() == 0 ? 1 : tensor.size(-1); }
inline int64_t rows_of(const Tensor& tensor) {
  return width_of(tensor) == 0 ? 0 : tensor.count() / width_of(tensor);
}

}  // namespace glassformer
