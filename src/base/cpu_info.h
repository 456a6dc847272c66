#pragma once

#include <cstddef>

namespace glassformer {

// GLASSFORMER_AVX512=0 in the environment turns off everything of AVX-512 and above, tiles too, and
// GLASSFORMER_AVX2=0 whatever not every processor of its kind has: to compare, and to test the code
// that others run.
bool avx512_turned_off();
bool avx2_turned_off();
// True where the bfloat16 tile instructions (AMX) exist, the operating system saves their state and
// this process was allowed to use them. GLASSFORMER_AMX=0 in the environment turns them off.
// Asked once; the processor's words alone are not enough: virtual machines are seen to hide parts.
bool amx_bf16_usable();
// The same for those of signed bytes.
bool amx_int8_usable();
// True where vectors convert float32 to bfloat16, and multiply pairs of it, in one instruction
// (AVX512-BF16). GLASSFORMER_AVX512_BF16=0 turns them off.
bool avx512_bf16_usable();
// True where bfloat16 is multiplied as it is, by either.
bool bf16_products_usable();
// How many bytes ahead of its use what streams past should be asked for: 4 KB on Intel's
// processors, 0 on AMD's, which foresee it, and asking costs time: int8 weights came at 40 GB/s
// with it and 50 without (Zen 4). What is unpacked on the way takes longer, and a Zen 5 does not
// look far enough ahead then: a core reads int4 at 44 GB/s when it asks 8 KB ahead, at 37 by
// itself.
size_t prefetch_of_streams();
size_t prefetch_of_unpacked_streams();
// Lines that one set of the first-level data cache holds; 8 where the system does not say.
int first_cache_ways();

}  // namespace glassformer
