#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace glassformer::cpu {

constexpr size_t kBf16Rows = 32;   // rows of a strip of A
constexpr size_t kBf16Cols = 32;   // columns of a panel of B
constexpr size_t kBf16Depth = 32;  // of a block: k is padded to a multiple of this
// Values of a panel, or a strip, for a block of k.
constexpr size_t kBf16PanelBlock = kBf16Depth * kBf16Cols;

// Work that is done beside a product: parts 0 .. kBf16Parts − 1, each once and in order. The tile
// unit multiplies by itself for some 60 cycles after each step, in which vectors may finish the
// sums of the product before.
constexpr size_t kBf16Parts = 8;
using Bf16Meanwhile = FunctionRef<void(size_t)>;

// C (+)= A · B for at most 32 rows of A and one panel of B (bf16_tile.h), whose k is padded with
// zeros to a multiple of 32.
struct Bf16Strip {
  size_t rows, columns;
  size_t blocks;  // of 32 of k
  const uint16_t* a;
  size_t a_pitch, a_pair, a_step;  // elements between the rows of A, its pairs of k, its blocks
  const uint16_t* a_end;  // the last block, [32][32] with zeros after k, where A has none; or null
  const uint16_t* b;
  float* c;
  size_t ldc;
  bool accumulate;
  const Bf16Meanwhile* meanwhile;  // or null; of one of many products that share the panel
};

}  // namespace glassformer::cpu
