#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "glassformer/tensor/activation.h"
#include "glassformer/tensor/quantised.h"

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
  // For x of `dtype`, in which the weight is multiplied.
  PackedWeight(const Tensor& weight, DType dtype);
  // A quantised one, about as large as its codes, for x of `dtype`. The bits of a result depend on
  // its row of x and of the weight alone. With int8_activations rows of x are quantised too
  // (x ≈ s · q, s = max|x| / 127), whole for kInt8 and in groups of 32 for other schemes, and
  // products are those of integers; without, the weight is expanded to `dtype` on its way.
  PackedWeight(const QuantisedTensor& weight, DType dtype, bool int8_activations);
  // One layer that computes several quantised ones at once, their results next to each other.
  // Shares their memory. Throws ShapeError or ValueError unless they take the same x.
  static PackedWeight joined(const std::vector<const PackedWeight*>& parts);

  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  bool quantised() const { return quantised_; }
  TensorOptions options() const { return options_; }
  const std::shared_ptr<const void>& data() const { return data_; }

 private:
  PackedWeight() = default;
  int64_t in_ = 0, out_ = 0;
  bool quantised_ = false;
  TensorOptions options_;
  std::shared_ptr<const void> data_;
};

// The same layer, off the tape. Throws AutogradError if an operand asks for a gradient.
Tensor linear(const Tensor& x, const PackedWeight& weight, const Tensor& bias = {},
              const LinearOptions& options = {});

}  // namespace glassformer
