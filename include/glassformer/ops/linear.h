#pragma once

#include <cstdint>
#include <memory>

#include "glassformer/tensor/activation.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// a [..., m, k] · b [..., k, n] → [..., m, n]; leading axes broadcast. Any strides: transposed
// operands cost nothing. Both of one floating dtype and device. Throws ShapeError otherwise.
Tensor matmul(const Tensor& a, const Tensor& b);

struct LinearOptions {
  Activation activation = Activation::kNone;
  Tensor residual = {};  // like the result; added after the activation
};

// y = activation(x · weightᵀ + bias) + residual, in one pass over the result.
//   x [..., in]   weight [out, in]   bias [out], or none   → [..., out]
// Gradients reach all four. Throws ShapeError, DTypeError or DeviceError.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const LinearOptions& options = {});

// A weight in the form in which its device multiplies fastest, for inference: made once, used for
// every call. Cheap to copy; keeps its own memory. The results have the same bits as without it.
class PackedWeight {
 public:
  explicit PackedWeight(const Tensor& weight);  // [out, in]
  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  TensorOptions options() const { return options_; }
  const std::shared_ptr<const void>& data() const { return data_; }

 private:
  int64_t in_, out_;
  TensorOptions options_;
  std::shared_ptr<const void> data_;
};

// The same layer, off the tape. Throws AutogradError if an operand asks for a gradient.
Tensor linear(const Tensor& x, const PackedWeight& weight, const Tensor& bias = {},
              const LinearOptions& options = {});

}  // namespace glassformer
