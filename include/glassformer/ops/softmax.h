#pragma once

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// softmax(x)_j = exp(x_j) / sum_k exp(x_k) along `axis`, the row's maximum subtracted first.
// x: [..., axis, ...], floating. A new tensor of x's shape. Throws ShapeError for a bad axis.
Tensor softmax(const Tensor& x, int axis = -1);

// log softmax(x) along `axis`, without forming the quotient.
Tensor log_softmax(const Tensor& x, int axis = -1);

}  // namespace glassformer
