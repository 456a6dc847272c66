#pragma once

#include <cstdint>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

struct SinusoidalOptions {
  // Where frequency i stands: sine at 2i and cosine at 2i + 1, as in the 2017 paper; or all sines
  // and then all cosines, as in Marian and Hugging Face's Marian and Pegasus.
  enum class Layout : uint8_t { kInterleaved, kHalfSplit };
  Layout layout = Layout::kInterleaved;
  int64_t offset = 0;  // position of the first row
  TensorOptions tensor = {};
};

// sin and cos of p / 10000^(2i / dim) for positions p = offset ... offset + length - 1, computed in
// float64 and rounded once. A new tensor [length, dim]. An odd dim has one sine more than cosines.
// Throws ValueError for negative numbers and DTypeError unless the dtype is floating.
Tensor sinusoidal_positions(int64_t length, int64_t dim, const SinusoidalOptions& options = {});

// Learned positions are rows of a trained table [P, D]: rows offset ... offset + length - 1 of it,
// a view [length, D] with the gradient. Where positions are not consecutive (padding on the left,
// packed rows) look them up with embedding(table, positions).
// Throws IndexError where the table has fewer rows.
Tensor learned_positions(const Tensor& table, int64_t length, int64_t offset = 0);

}  // namespace glassformer
