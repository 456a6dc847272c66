#pragma once

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// All of these pass gradients. Where there is nothing to do, the argument itself is returned.
Tensor to(const Tensor& x, Device device);
Tensor cast(const Tensor& x, DType dtype);
Tensor contiguous(const Tensor& x);  // row-major

// A contiguous copy in memory of its own.
Tensor clone(const Tensor& x);

// In place, off the tape. Throws AutogradError while `into` is on the tape and recording is on.
void copy_(const Tensor& into, const Tensor& from);  // shapes must broadcast to into's
void fill_(const Tensor& into, double value);

}  // namespace glassformer
