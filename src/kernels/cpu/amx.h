#pragma once

#include <cstdint>

#include "kernels/cpu/bf16_strip.h"

// The tile unit (AMX). Call nothing here unless amx_bf16_usable() (base/cpu_info.h). On other
// systems than x86-64 Linux the functions exist and throw InternalError.

namespace glassformer::cpu {

// LDTILECFG's operand, palette 1: bytes a row and rows of each tile.
struct alignas(64) AmxTileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Holds the unit for the calling thread; needed around products. Nests at the cost of a counter;
// the outermost scope gives the unit back, so that other code's context switches stay cheap.
class AmxScope {
 public:
  AmxScope();
  ~AmxScope();
  AmxScope(const AmxScope&) = delete;
  AmxScope& operator=(const AmxScope&) = delete;
};

void amx_bf16_product(const Bf16Strip& x);

}  // namespace glassformer::cpu
