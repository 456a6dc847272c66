#pragma once

#include "kernels/cpu/quantised.h"

// Signed bytes on the tile unit (AMX). Call nothing here unless amx_int8_usable().

namespace glassformer::cpu {

// Holds the tile unit for the calling thread; not within an AmxScope.
class AmxInt8Scope {
 public:
  AmxInt8Scope();
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

// sums[16][32] (+)= the product of 16 rows with some groups of a panel, as quantised.h has it.
void amx_int8_strip(const ActivationGroup* x, size_t groups, const SignedPanel& panel, float* sums,
                    bool accumulate);

}  // namespace glassformer::cpu
