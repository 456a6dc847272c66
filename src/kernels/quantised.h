#pragma once

#include <vector>

#include "glassformer/tensor/quantised.h"
#include "kernels/linear.h"

namespace glassformer {

// Fills in codes and scales (int8, int4) from weight [rows, columns], float32, contiguous.
inline constexpr Kernel<void(const Tensor& weight, const QuantisedTensor& out)> kQuantise{
    "quantise"};

// A quantised weight in the form that this device multiplies fastest. `codes` are those of
// `weight`.
inline constexpr Kernel<void(const Tensor& codes, const QuantisedTensor& weight,
                             PackedData& packed)>
    kPackQuantised{"pack_quantised"};

// z = x · weightᵀ + bias,  y = activation(z) + residual, the results of several weights next to
// each other. x [rows, in], rows contiguous; y [rows, out], contiguous. With int8_activations x is
// quantised first, a whole row (weights of kInt8) or groups of 32 of it (all others):
// s = max|x| / 127,  x ≈ s · round(x / s).
struct QuantisedOperand {
  std::vector<PackedData> parts;
  bool int8_activations = false;
};
inline constexpr Kernel<void(const Tensor& x, const QuantisedOperand& weight, const Tensor& y,
                             const LinearEpilogue& epilogue)>
    kLinearQuantised{"linear_quantised"};

// y[i] = row ids[i] of weight: y [count, columns] float32, ids [count] int64, both contiguous.
// Without ids, every row. Throws IndexError for an id that is not there.
inline constexpr Kernel<void(const Tensor& codes, const QuantisedTensor& weight, const Tensor& ids,
                             const Tensor& y)>
    kExpandRows{"expand_rows"};

}  // namespace glassformer
