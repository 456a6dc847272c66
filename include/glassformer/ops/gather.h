#pragma once

#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Indices are int64 or int32, on x's device, not negative. Values may be of any dtype; gradients,
// where they are floating, add up in the order of the indices. Every one of these throws
// IndexError, with the position and the value, for an index outside its axis.

// y[i, ...] = x[ids[i], ...]. x: [rows, ...], ids: [...] → [ids..., ...].
Tensor gather_rows(const Tensor& x, const Tensor& ids);

// The slices ids: [count] of x along `axis`: [..., axis, ...] → [..., count, ...].
Tensor index_select(const Tensor& x, int axis, const Tensor& ids);

// y[..., i, ...] = x[..., index[..., i, ...], ...] along `axis`; y has index's shape. index has x's
// rank and is nowhere larger but along `axis`; throws ShapeError otherwise.
Tensor gather(const Tensor& x, int axis, const Tensor& index);

// Copies side by side along an axis that they have (concatenate) or that is new (stack). One dtype
// and device, and but for `axis` one shape. Throws ValueError for none, ShapeError, DTypeError or
// DeviceError, with the position of the tensor, where they do not fit.
Tensor concatenate(const std::vector<Tensor>& tensors, int axis);
Tensor stack(const std::vector<Tensor>& tensors, int axis);

}  // namespace glassformer
