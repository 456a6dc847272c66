#pragma once

#include <algorithm>

#include "kernels/access.h"
#include "kernels/activation.h"
#include "kernels/arithmetic.h"
#include "kernels/linear.h"

namespace glassformer::ref {

// y = activation(y + bias) + residual, a step at a time, by the kernels of the same device.
template <class T>
void finish_linear(const Tensor& y, const LinearEpilogue& epilogue) {
  if (epilogue.bias.defined()) call(kBinary, y, epilogue.bias, y, Binary::kAdd);
  if (epilogue.pre_activation.defined())
    std::copy_n(input<T>(y), y.count(), output<T>(epilogue.pre_activation));
  if (epilogue.activation != Activation::kNone) call(kActivate, y, y, epilogue.activation);
  if (epilogue.residual.defined()) call(kBinary, y, epilogue.residual, y, Binary::kAdd);
}

}  // namespace glassformer::ref
