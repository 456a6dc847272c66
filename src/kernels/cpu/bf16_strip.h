#pragma once

#include <cstddef>
#include <cstdint>

namespace glassformer::cpu {

// C (+)= A · B for at most 32 rows of A and one panel of B (bf16_tile.h), whose k is padded with
// zeros to a multiple of 32.
struct Bf16Strip {
  size_t rows, columns;
  size_t blocks;  // of 32 of k
  const uint16_t* a;
  size_t a_pitch, a_step;  // elements between the rows of A, and between its blocks
  const uint16_t* a_end;   // the last block, [32][32] with zeros after k, where A has none; or null
  const uint16_t* b;
  float* c;
  size_t ldc;
  bool accumulate;
  const float* next;  // sums that are wanted next, or null
};

}  // namespace glassformer::cpu
