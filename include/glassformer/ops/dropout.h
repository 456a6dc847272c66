#pragma once

#include "glassformer/base/random.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Element i of x is kept, times 1 / (1 - p), where word i of the field `key` says so, which it does
// with probability 1 - p; the others become 0. x: [...], floating. A new tensor of x's shape (x
// itself where p is 0). The backward draws the same field again: nothing is kept for it.
// Throws ValueError unless 0 <= p <= 1.
Tensor dropout(const Tensor& x, double p, RandomKey key);

}  // namespace glassformer
