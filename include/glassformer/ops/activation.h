#pragma once

#include "glassformer/tensor/activation.h"  // IWYU pragma: export
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Element by element, a new tensor of x's shape (x itself for kNone). x: [...], floating.
Tensor activate(const Tensor& x, Activation activation);

inline Tensor relu(const Tensor& x) { return activate(x, Activation::kRelu); }  // max(x, 0)
// x * Phi(x), Phi the normal distribution function.
inline Tensor gelu(const Tensor& x) { return activate(x, Activation::kGelu); }
// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2
inline Tensor gelu_tanh(const Tensor& x) { return activate(x, Activation::kGeluTanh); }
inline Tensor silu(const Tensor& x) { return activate(x, Activation::kSilu); }  // x * sigmoid(x)
inline Tensor sigmoid(const Tensor& x) { return activate(x, Activation::kSigmoid); }
inline Tensor tanh(const Tensor& x) { return activate(x, Activation::kTanh); }

// activation(gate) * up, the gated feed-forward's hidden layer in one pass. Both [..., width], of
// one shape, floating dtype and device. Throws ShapeError, DTypeError or DeviceError otherwise.
Tensor gated(const Tensor& gate, const Tensor& up, Activation activation);

// The same from x: [..., 2 * width], whose last axis holds the gate and then up: → [..., width].
// Neither half is copied. Throws ShapeError for an odd last axis.
Tensor gated_packed(const Tensor& x, Activation activation);

}  // namespace glassformer
