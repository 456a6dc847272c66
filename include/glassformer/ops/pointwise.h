#pragma once

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Element by element; x: [...], floating; a new tensor of x's shape.
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);  // natural; -inf at 0, NaN below
Tensor sqrt(const Tensor& x);
Tensor square(const Tensor& x);

// min(max(x, low), high); NaN stays. The gradient passes where low <= x <= high.
// Throws ValueError unless low <= high.
Tensor clamp(const Tensor& x, double low, double high);

// a where condition (bool) is true, otherwise b; all three broadcast by NumPy's rule, a and b of
// one floating dtype. Throws ShapeError, DTypeError or DeviceError.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

}  // namespace glassformer
