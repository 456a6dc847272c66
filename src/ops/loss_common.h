#pragma once

#include "autograd/tape.h"
#include "base/check.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// The dtype of a loss: never less than float32.
inline DType loss_dtype(const Tensor& x) {
  return x.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

// For arguments that a loss does not differentiate: a gradient that silently fails to come would be
// worse than an error.
inline void check_no_gradient(const char* op, const char* argument, const Tensor& x) {
  require<AutogradError>(
      !x.defined() || !needs_grad(x),
      "{}: expected {} without a gradient, found one that requires it: detach it", op, argument);
}

}  // namespace glassformer
