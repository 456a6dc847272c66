#pragma once

#include "kernels/cpu/quantised.h"

// Signed bytes on the tile unit (AMX). Call nothing here unless amx_int8_usable().

namespace glassformer::cpu {

// Holds the tile unit for the calling thread, for tiles of A with 32 or 64 of k; not within an
// AmxScope.
class AmxInt8Scope {
 public:
  explicit AmxInt8Scope(size_t depth);
  ~AmxInt8Scope();
  AmxInt8Scope(const AmxInt8Scope&) = delete;
  AmxInt8Scope& operator=(const AmxInt8Scope&) = delete;
};

// A panel of 32 columns as signed codes, [groups][8][32 columns][4 of k], their steps [groups][32]
// and bases (or null) likewise.
struct SignedPanel {
  const int8_t* codes;
  const float* steps;
  const float* bases;

  SignedPanel from_group(size_t g) const {
    return {codes + g * kCodeDepth * kCodeColumns, steps + g * kCodeColumns,
            bases != nullptr ? bases + g * kCodeColumns : nullptr};
  }
};

// sums[16][32] (+)= the product of 16 rows with some groups of a panel, as quantised.h has it, on
// tiles of 32 of k.
void amx_int8_strip(const ActivationGroup* x, size_t groups, const SignedPanel& panel, float* sums,
                    bool accumulate);

// One or two strips of 16 rows, [blocks][16][64 of k] signed, and a panel of 32 columns,
// [blocks][16][32 columns][4 of k] unsigned.
struct AmxInt8Operands {
  const int8_t* a;
  const int8_t* second_a;  // or null
  const uint8_t* b;
  size_t blocks;
  bool accumulate;
};

// sums[32][32] (+)= their integer products, on tiles of 64 of k. Writes all 32 rows of two strips,
// 16 of one.
void amx_int8_product(const AmxInt8Operands& operands, int32_t* sums);

// From here on a strip of 16 rows on the tile unit costs less than its rows on vectors.
constexpr int64_t kRowsForTiles = 12;

}  // namespace glassformer::cpu
