#pragma once

#include "kernels/cpu/bf16_strip.h"

namespace glassformer::cpu {

// On vectors of AVX512-BF16. Call nothing here unless avx512_bf16_usable() (base/cpu_info.h); on
// other systems than x86-64 Linux it throws InternalError.
void dot_bf16_product(const Bf16Strip& x);

}  // namespace glassformer::cpu
