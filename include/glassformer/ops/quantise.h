#pragma once

#include "glassformer/tensor/quantised.h"

namespace glassformer {

// weight [rows, columns], floating, in the nearest numbers that the scheme can write:
//   kInt8  scale = max|w| / 127 over the row
//   kInt4  of some twenty scales around max|w| / 8 the one with the least squared error over the
//          group, for each group of `group` columns
// Off the tape. Throws ValueError for GGUF's schemes, which are only read, and for a group that is
// no multiple of 32.
QuantisedTensor quantise(const Tensor& weight, QuantScheme scheme, int64_t group = 32);

// The numbers that the codes stand for: a new tensor [rows, columns].
Tensor dequantise(const QuantisedTensor& weight, DType dtype = DType::kFloat32);

// y[..., :] = weight[ids[...], :], the rows that are asked for expanded: a new tensor
// [..., columns]. ids int64 or int32. Throws IndexError for an id that is not there.
Tensor embedding(const QuantisedTensor& weight, const Tensor& ids, DType dtype = DType::kFloat32);

QuantisedTensor to(const QuantisedTensor& x, Device device);

}  // namespace glassformer
