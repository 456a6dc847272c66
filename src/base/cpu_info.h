#pragma once

namespace glassformer {

// True where the bfloat16 tile instructions (AMX) exist, the operating system saves their state and
// this process was allowed to use them. GLASSFORMER_AMX=0 in the environment turns them off.
// Asked once; the processor's words alone are not enough: virtual machines are seen to hide parts.
bool amx_bf16_usable();
// The same for those of signed bytes.
bool amx_int8_usable();
// True where vectors of float32 can be converted to bfloat16 in one instruction (AVX512-BF16).
bool avx512_bf16_usable();

}  // namespace glassformer
