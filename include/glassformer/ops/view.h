#pragma once

#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Other views of the same memory; nothing is copied, and gradients pass through.

Tensor transpose(const Tensor& x, int axis_a, int axis_b);
Tensor permute(const Tensor& x, const std::vector<int>& axes);  // result axis i is x's axes[i]

// Elements begin, begin + step, ... before end along `axis`. Negative bounds count from the end;
// both are clamped. Throws ValueError unless step >= 1.
Tensor slice(const Tensor& x, int axis, int64_t begin, int64_t end, int64_t step = 1);
Tensor select(const Tensor& x, int axis, int64_t index);  // drops the axis; throws IndexError

Tensor unsqueeze(const Tensor& x, int axis);  // a new axis of size 1 before `axis`
Tensor squeeze(const Tensor& x, int axis);    // throws ShapeError unless its size is 1

// Broadcast (NumPy's rule): repeated axes have stride 0.
Tensor expand(const Tensor& x, const Shape& shape);

// The same elements in row-major order under another shape; one size may be -1. A view where the
// strides allow it, otherwise a copy.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor flatten(const Tensor& x, int first_axis = 0, int last_axis = -1);

// Pieces along `axis`, of the sizes given (which must add up) or `count` equal ones.
std::vector<Tensor> split(const Tensor& x, int axis, const std::vector<int64_t>& sizes);
std::vector<Tensor> chunk(const Tensor& x, int axis, int count);

}  // namespace glassformer
