#pragma once

#include "kernels/cpu/gemm.h"
#include "kernels/linear.h"

// Tensors as the products of gemm.h and quantised.h take them.

namespace glassformer::cpu {

MatrixRef matrix(const Tensor& x, int rows, int cols);
GemmOutput output_of(const Tensor& y, const LinearEpilogue& epilogue);

}  // namespace glassformer::cpu
