#pragma once

#include <array>
#include <memory>

#include "glassformer/tensor/activation.h"
#include "kernels/table.h"

namespace glassformer {

// y = a · b, batch by batch: a [B, m, k], b [B, k, n], any strides (0 where a batch is shared);
// y [B, m, n], contiguous.
inline constexpr Kernel<void(const Tensor& a, const Tensor& b, const Tensor& y)> kMatmul{"matmul"};

// What follows the product of a linear layer; undefined where absent.
struct LinearEpilogue {
  Tensor bias;            // [out], contiguous
  Tensor residual;        // [rows, out], contiguous
  Tensor pre_activation;  // [rows, out], contiguous: receives z
  Activation activation = Activation::kNone;
  std::array<const Tensor*, 3> tensors() const { return {&bias, &residual, &pre_activation}; }
};

// z = x · weightᵀ + bias,  y = activation(z) + residual.
// x [rows, in] and weight [out, in] of any strides; y [rows, out], contiguous.
inline constexpr Kernel<void(const Tensor& x, const Tensor& weight, const Tensor& y,
                             const LinearEpilogue& epilogue)>
    kLinear{"linear"};

// A weight [out, in] in the form that this device multiplies fastest with x of `dtype`, its own or
// float32 for bfloat16, and the same product with it.
using PackedData = std::shared_ptr<const void>;
inline constexpr Kernel<void(const Tensor& weight, DType dtype, PackedData& packed)> kPackWeight{
    "pack_weight"};
inline constexpr Kernel<void(const Tensor& x, const PackedData& packed, const Tensor& y,
                             const LinearEpilogue& epilogue)>
    kLinearPacked{"linear_packed"};

}  // namespace glassformer
