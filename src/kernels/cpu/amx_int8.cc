#include "kernels/cpu/amx_int8.h"

#include "base/check.h"
#include "kernels/cpu/amx.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)

#include <immintrin.h>

// GCC 12 warns about the undefined operands inside its own AVX-512 header (GCC bug 105593).
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

// Everything below runs only where amx_int8_usable(), and every such processor has these.
#define GLASSFORMER_AMX_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-int8")))

namespace glassformer::cpu {
namespace {

constexpr size_t kRows = ActivationGroup::kRows;
constexpr size_t kGroupCodes = kCodeDepth * kCodeColumns;

// Tiles 0..3 are C [16 rows][16 columns], 4 and 5 A [16][depth], 6 and 7 B [depth / 4][16
// columns][4 of k].
GLASSFORMER_AMX_TARGET void configure(size_t depth) {
  const auto bytes = static_cast<uint16_t>(depth);
  const auto rows = static_cast<uint8_t>(depth / 4);
  const AmxTileConfig config{.row_bytes = {64, 64, 64, 64, bytes, bytes, 64, 64},
                             .rows = {16, 16, 16, 16, 16, 16, rows, rows}};
  asm volatile("" ::"m"(config) : "memory");  // the intrinsics do not say what memory they read
  _tile_loadconfig(&config);
}
GLASSFORMER_AMX_TARGET void release() { _tile_release(); }

// acc += scale · step · C − total · base, row by row, in the order of the vector kernel.
template <bool kBases>
[[gnu::always_inline]] GLASSFORMER_AMX_TARGET inline void add_scaled(const int32_t* c,
                                                                     const ActivationGroup& x,
                                                                     const float* step_at,
                                                                     const float* base_at,
                                                                     __m512 (&acc)[kRows]) {
  const __m512 step = _mm512_loadu_ps(step_at);
#pragma GCC unroll 16
  for (size_t r = 0; r < kRows; ++r) {
    const __m512 dot = _mm512_cvtepi32_ps(_mm512_load_si512(c + 16 * r));
    acc[r] = _mm512_fmadd_ps(dot, _mm512_mul_ps(step, _mm512_set1_ps(x.scales[r])), acc[r]);
    if constexpr (kBases)
      acc[r] = _mm512_fnmadd_ps(_mm512_loadu_ps(base_at), _mm512_set1_ps(x.total[r]), acc[r]);
  }
}

using FourTiles = int32_t[4][kRows * 16];

// Where the groups of a strip and of half a panel lie.
struct Operands {
  const ActivationGroup* x;
  const int8_t* codes;
  const int8_t* a(size_t g) const { return &x[g].codes[0][0]; }
  const int8_t* b(size_t g) const { return codes + g * kGroupCodes; }
};

// The integer sums of four groups. The numbers of tiles are part of the instructions' names.
GLASSFORMER_AMX_TARGET inline void multiply_four(const Operands& from, size_t g, FourTiles& c) {
  _tile_zero(0);
  _tile_loadd(4, from.a(g), kCodeDepth);
  _tile_loadd(6, from.b(g), 4 * kCodeColumns);
  _tile_dpbssd(0, 4, 6);
  _tile_zero(1);
  _tile_loadd(5, from.a(g + 1), kCodeDepth);
  _tile_loadd(7, from.b(g + 1), 4 * kCodeColumns);
  _tile_dpbssd(1, 5, 7);
  _tile_zero(2);
  _tile_loadd(4, from.a(g + 2), kCodeDepth);
  _tile_loadd(6, from.b(g + 2), 4 * kCodeColumns);
  _tile_dpbssd(2, 4, 6);
  _tile_zero(3);
  _tile_loadd(5, from.a(g + 3), kCodeDepth);
  _tile_loadd(7, from.b(g + 3), 4 * kCodeColumns);
  _tile_dpbssd(3, 5, 7);
  _tile_stored(0, c[0], 64);
  _tile_stored(1, c[1], 64);
  _tile_stored(2, c[2], 64);
  _tile_stored(3, c[3], 64);
  asm volatile("" ::: "memory");  // nor do they say what they write
}

// 16 columns of the panel. The unit multiplies four groups while the vectors scale the four before:
// left to themselves these would wait for it, since hundreds of instructions lie between.
template <bool kBases>
GLASSFORMER_AMX_TARGET void half_strip(const ActivationGroup* x, size_t groups,
                                       const SignedPanel& panel, size_t column, float* sums,
                                       bool accumulate) {
  alignas(64) FourTiles c[2];
  __m512 acc[kRows];
#pragma GCC unroll 16
  for (size_t r = 0; r < kRows; ++r)
    acc[r] = accumulate ? _mm512_loadu_ps(sums + r * kCodeColumns + column) : _mm512_setzero_ps();
  const Operands from{x, panel.codes + 4 * column};
  const float* steps = panel.steps + column;
  const float* bases = kBases ? panel.bases + column : nullptr;
  const size_t whole = groups / 4;
  if (whole != 0) multiply_four(from, 0, c[0]);
  for (size_t i = 0; i < whole; ++i) {
    if (i + 1 < whole) multiply_four(from, 4 * (i + 1), c[(i + 1) % 2]);
    for (size_t g = 4 * i; g < 4 * i + 4; ++g)
      add_scaled<kBases>(c[i % 2][g % 4], x[g], steps + g * kCodeColumns,
                         kBases ? bases + g * kCodeColumns : nullptr, acc);
  }
  for (size_t g = 4 * whole; g < groups; ++g) {
    _tile_zero(0);
    _tile_loadd(4, from.a(g), kCodeDepth);
    _tile_loadd(6, from.b(g), 4 * kCodeColumns);
    _tile_dpbssd(0, 4, 6);
    _tile_stored(0, c[0][0], 64);
    asm volatile("" ::: "memory");
    add_scaled<kBases>(c[0][0], x[g], steps + g * kCodeColumns,
                       kBases ? bases + g * kCodeColumns : nullptr, acc);
  }
#pragma GCC unroll 16
  for (size_t r = 0; r < kRows; ++r) _mm512_storeu_ps(sums + r * kCodeColumns + column, acc[r]);
}

template <bool kTwo>
GLASSFORMER_AMX_TARGET void whole_product(const AmxInt8Operands& from, int32_t* sums) {
  constexpr size_t kPitch = kCodeColumns * sizeof(int32_t), kTile = kRows * 64;
  int32_t* second = sums + kRows * kCodeColumns;
  if (from.accumulate) {
    _tile_loadd(0, sums, kPitch);
    _tile_loadd(1, sums + 16, kPitch);
    if constexpr (kTwo) {
      _tile_loadd(2, second, kPitch);
      _tile_loadd(3, second + 16, kPitch);
    }
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const uint8_t* b = from.b;
  for (size_t i = 0; i < from.blocks; ++i, b += 2 * kGroupCodes) {
    _tile_loadd(4, from.a + i * kTile, 64);
    _tile_loadd(6, b, 4 * kCodeColumns);
    _tile_dpbsud(0, 4, 6);
    _tile_loadd(7, b + 64, 4 * kCodeColumns);
    _tile_dpbsud(1, 4, 7);
    if constexpr (kTwo) {
      _tile_loadd(5, from.second_a + i * kTile, 64);
      _tile_dpbsud(2, 5, 6);
      _tile_dpbsud(3, 5, 7);
    }
  }
  _tile_stored(0, sums, kPitch);
  _tile_stored(1, sums + 16, kPitch);
  if constexpr (kTwo) {
    _tile_stored(2, second, kPitch);
    _tile_stored(3, second + 16, kPitch);
  }
  asm volatile("" ::: "memory");
}

}  // namespace

AmxInt8Scope::AmxInt8Scope(size_t depth) { configure(depth); }
AmxInt8Scope::~AmxInt8Scope() { release(); }

void amx_int8_strip(const ActivationGroup* x, size_t groups, const SignedPanel& panel, float* sums,
                    bool accumulate) {
  const auto half = panel.bases != nullptr ? half_strip<true> : half_strip<false>;
  asm volatile("" ::: "memory");  // what was written before is read by tile loads
  half(x, groups, panel, 0, sums, accumulate);
  half(x, groups, panel, 16, sums, accumulate);
}

void amx_int8_product(const AmxInt8Operands& operands, int32_t* sums) {
  asm volatile("" ::: "memory");  // what was written before is read by tile loads
  (operands.second_a != nullptr ? whole_product<true> : whole_product<false>)(operands, sums);
}

}  // namespace glassformer::cpu

#undef GLASSFORMER_AMX_TARGET

#else  // no tile unit here: amx_int8_usable() is false and nobody calls these

namespace glassformer::cpu {
namespace {
[[noreturn]] void absent() { throw InternalError("AMX called where it does not exist"); }
}  // namespace

AmxInt8Scope::AmxInt8Scope(size_t) { absent(); }
AmxInt8Scope::~AmxInt8Scope() = default;
void amx_int8_strip(const ActivationGroup*, size_t, const SignedPanel&, float*, bool) { absent(); }
void amx_int8_product(const AmxInt8Operands&, int32_t*) { absent(); }

}  // namespace glassformer::cpu

#endif
