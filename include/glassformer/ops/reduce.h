#pragma once

#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Sums over the axes in which `shape` was broadcast to x's shape: the adjoint of expand().
Tensor sum_to(const Tensor& x, const Shape& shape);

// Over `axes` (all of them when empty). With `keep`, reduced axes stay with size 1.
Tensor sum(const Tensor& x, const std::vector<int>& axes = {}, bool keep = false);
Tensor mean(const Tensor& x, const std::vector<int>& axes = {}, bool keep = false);

// The largest along `axis`. NaN wins. The gradient goes to the first of equal elements.
// Throws ShapeError for an axis of size 0.
Tensor max(const Tensor& x, int axis, bool keep = false);
Tensor argmax(const Tensor& x, int axis, bool keep = false);  // int64; the first of equal elements

}  // namespace glassformer
