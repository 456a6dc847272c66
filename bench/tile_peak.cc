#include "tile_peak.h"

#include "base/cpu_info.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace glassformer::bench {

#if defined(__x86_64__)
namespace {

// Tiles 0-3 accumulate, 4-5 and 6-7 are the factors: four independent chains are enough.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t bytes_a_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Ordinary numbers: of zeros the unit computes faster than it ever does at work. As bfloat16 they
// lie within ±2^-7, so that no sum overflows.
struct alignas(64) Factors {
  uint16_t bits[4][16 * 32];
  Factors() {
    uint32_t state = 1;
    for (auto& tile : bits)
      for (uint16_t& x : tile) {
        state = state * 1664525U + 1013904223U;
        x = static_cast<uint16_t>(0x3a00U | (state >> 16 & 0x81ffU));
      }
  }
};

__attribute__((target("amx-tile"))) void open_tiles() {
  // Static: GCC knows only of the first eight bytes that the instruction reads, and would leave the
  // rest of a local one unwritten.
  static const TileConfig config;
  static const Factors factors;
  constexpr int kPitch = 64;
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, factors.bits[0], kPitch);
  _tile_loadd(5, factors.bits[1], kPitch);
  _tile_loadd(6, factors.bits[2], kPitch);
  _tile_loadd(7, factors.bits[3], kPitch);
}

__attribute__((target("amx-tile,amx-bf16"))) int64_t amx_bfloat16(int64_t rounds) {
  open_tiles();
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return rounds * 4 * 2 * 16 * 16 * 32;
}

__attribute__((target("amx-tile,amx-int8"))) int64_t amx_int8(int64_t rounds) {
  open_tiles();
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_release();
  return rounds * 4 * 2 * 16 * 16 * 64;
}

constexpr int kChains = 16;  // two ports, latency up to 6: with twelve none may ever come late

__attribute__((target("avx512f,avx512bf16"))) int64_t vector_bfloat16(int64_t rounds) {
  __m512 sum[kChains] = {};
  const __m512i bits = _mm512_set1_epi16(0x0080);  // tiny: nothing overflows
  const auto factor = reinterpret_cast<const __m512bh&>(bits);
  for (int64_t i = 0; i < rounds; ++i)
    for (auto& one : sum) {
      one = _mm512_dpbf16_ps(one, factor, factor);
      asm volatile("" : "+v"(one));
    }
  return rounds * kChains * 2 * 32;
}

__attribute__((target("avx512f,avx512vnni"))) int64_t vector_int8(int64_t rounds) {
  __m512i sum[kChains] = {};
  const __m512i factor = _mm512_set1_epi8(1);
  for (int64_t i = 0; i < rounds; ++i)
    for (auto& one : sum) {
      one = _mm512_dpbusd_epi32(one, factor, factor);
      asm volatile("" : "+v"(one));
    }
  return rounds * kChains * 2 * 64;
}

bool has_amx_int8() {
  constexpr unsigned kAmxInt8 = 1U << 25;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return amx_bf16_usable() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kAmxInt8) != 0;
}

}  // namespace

DotInstructions bfloat16_instructions() {
  if (amx_bf16_usable()) return {amx_bfloat16, "amx"};
  if (__builtin_cpu_supports("avx512bf16")) return {vector_bfloat16, "avx512_bf16"};
  return {};
}

DotInstructions int8_instructions() {
  if (has_amx_int8()) return {amx_int8, "amx"};
  if (__builtin_cpu_supports("avx512vnni")) return {vector_int8, "avx512_vnni"};
  return {};
}

#else

DotInstructions bfloat16_instructions() { return {}; }
DotInstructions int8_instructions() { return {}; }

#endif

}  // namespace glassformer::bench
