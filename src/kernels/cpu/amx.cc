#include "kernels/cpu/amx.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/check.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)

#include <immintrin.h>

// Everything below runs only where amx_bf16_usable(), and every such processor has these.
#define GLASSFORMER_AMX_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-bf16")))

namespace glassformer::cpu {
namespace {

// ------------------------------------------------------------------------------------ tile state

struct ThreadTiles {
  int depth = 0;    // nested scopes
  size_t rows = 0;  // rows of A configured, 0 for none
};
thread_local ThreadTiles tiles;

// Tiles 0..3 are C (two by two), 4 and 5 A above each other, 6 and 7 B side by side. Fewer rows
// make shorter tiles, which neither read nor write beyond the matrix and take less time.
GLASSFORMER_AMX_TARGET void configure(size_t rows) {
  if (tiles.rows == rows) return;
  AmxTileConfig config;
  const size_t upper = std::min<size_t>(rows, 16);
  for (const int tile : {0, 1, 4}) config.rows[tile] = static_cast<uint8_t>(upper);
  for (const int tile : {2, 3, 5}) config.rows[tile] = static_cast<uint8_t>(rows - upper);
  for (const int tile : {6, 7}) config.rows[tile] = 16;
  for (int tile = 0; tile < 8; ++tile) config.row_bytes[tile] = config.rows[tile] ? 64 : 0;
  // The intrinsics do not tell the compiler what memory they read.
  asm volatile("" ::"m"(config) : "memory");
  _tile_loadconfig(&config);
  tiles.rows = rows;
}

GLASSFORMER_AMX_TARGET void release() {
  if (tiles.rows != 0) _tile_release();
  tiles.rows = 0;
}

// ------------------------------------------------------------------------------------ product

// A tile of no rows must not even be named.
template <bool kTwoHigh>
GLASSFORMER_AMX_TARGET inline void zero_tile() {
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kTwoHigh) {
    _tile_zero(2);
    _tile_zero(3);
  }
}

// One register tile: C[rows × 32] from or to a pitch in bytes.
template <bool kTwoHigh>
GLASSFORMER_AMX_TARGET inline void load_tile(const char* c, size_t pitch) {
  _tile_loadd(0, c, pitch);
  _tile_loadd(1, c + 64, pitch);
  if constexpr (kTwoHigh) {
    _tile_loadd(2, c + 16 * pitch, pitch);
    _tile_loadd(3, c + 16 * pitch + 64, pitch);
  }
}

template <bool kTwoHigh>
GLASSFORMER_AMX_TARGET inline void store_tile(char* c, size_t pitch) {
  _tile_stored(0, c, pitch);
  _tile_stored(1, c + 64, pitch);
  if constexpr (kTwoHigh) {
    _tile_stored(2, c + 16 * pitch, pitch);
    _tile_stored(3, c + 16 * pitch + 64, pitch);
  }
}

// What of its operands a step leaves in the L1 cache; the rest passes it by.
enum class Keep { kAll, kPanel, kNothing };

// C += A · B over one block of 32 of k.
template <bool kTwoHigh, Keep kKeep>
GLASSFORMER_AMX_TARGET inline void step(const uint16_t* a, size_t pitch, const uint16_t* b) {
  [[maybe_unused]] const char* lower = reinterpret_cast<const char*>(a) + 16 * pitch;
  if constexpr (kKeep == Keep::kNothing)
    _tile_stream_loadd(6, b, 128);
  else
    _tile_loadd(6, b, 128);
  if constexpr (kKeep == Keep::kAll)
    _tile_loadd(4, a, pitch);
  else
    _tile_stream_loadd(4, a, pitch);
  if constexpr (kKeep == Keep::kNothing)
    _tile_stream_loadd(7, b + 32, 128);
  else
    _tile_loadd(7, b + 32, 128);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  if constexpr (kTwoHigh) {
    if constexpr (kKeep == Keep::kAll)
      _tile_loadd(5, lower, pitch);
    else
      _tile_stream_loadd(5, lower, pitch);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

constexpr size_t kBlocksAhead = 4;  // 8 KB of B
constexpr size_t kBlocksKept = 16;  // 32 KB of B: two thirds of an L1 cache

// kBusy: there is something to do meanwhile.
template <bool kTwoHigh, bool kBusy>
GLASSFORMER_AMX_TARGET void multiply(const Bf16Strip& x) {
  alignas(64) float edge[kBf16Rows * kBf16Cols];
  const bool narrow = x.columns < kBf16Cols;
  for (size_t i = 0; narrow && x.accumulate && i < x.rows; ++i) {
    memcpy(edge + i * kBf16Cols, x.c + i * x.ldc, x.columns * sizeof(float));
    std::fill_n(edge + i * kBf16Cols + x.columns, kBf16Cols - x.columns, 0.0f);
  }
  char* to = reinterpret_cast<char*>(narrow ? edge : x.c);
  const size_t to_pitch = (narrow ? kBf16Cols : x.ldc) * sizeof(float);
  asm volatile("" ::: "memory");  // what was written above is read by tile loads
  if (x.accumulate)
    load_tile<kTwoHigh>(to, to_pitch);
  else
    zero_tile<kTwoHigh>();
  const size_t whole = x.blocks - (x.a_end != nullptr ? 1 : 0);
  size_t part = 0;
  const auto multiply_block = [&](size_t block, auto keep) GLASSFORMER_AMX_TARGET {
    step<kTwoHigh, decltype(keep)::value>(x.a + block * x.a_step, x.a_pitch * sizeof(uint16_t),
                                          x.b + block * kBf16PanelBlock);
    // Few rows take B at the speed of memory, and tile loads do not fetch ahead far enough.
    if constexpr (!kTwoHigh)
      for (size_t ahead = 0; ahead < kBf16PanelBlock; ahead += 32)
        _mm_prefetch(
            reinterpret_cast<const char*>(x.b + (block + kBlocksAhead) * kBf16PanelBlock + ahead),
            _MM_HINT_T0);
    if constexpr (kBusy)
      for (; part < kBf16Parts && part * x.blocks <= block * kBf16Parts; ++part)
        (*x.meanwhile)(part);
  };
  // Of many products that share a panel, each with its strip of A, the strips would drive the panel
  // out of the L1 cache; and if not all of it fits, no line would still be there when it is wanted.
  constexpr Keep kFirst = kTwoHigh && kBusy ? Keep::kPanel : Keep::kAll;
  const size_t kept = kFirst == Keep::kAll ? whole : std::min(whole, kBlocksKept);
  for (size_t block = 0; block < kept; ++block)
    multiply_block(block, std::integral_constant<Keep, kFirst>());
  if constexpr (kFirst == Keep::kPanel)
    for (size_t block = kept; block < whole; ++block)
      multiply_block(block, std::integral_constant<Keep, Keep::kNothing>());
  if (x.a_end != nullptr)
    step<kTwoHigh, Keep::kAll>(x.a_end, kBf16Depth * sizeof(uint16_t),
                               x.b + whole * kBf16PanelBlock);
  if constexpr (kBusy)
    for (; part < kBf16Parts; ++part) (*x.meanwhile)(part);
  store_tile<kTwoHigh>(to, to_pitch);
  for (size_t i = 0; narrow && i < x.rows; ++i)
    memcpy(x.c + i * x.ldc, edge + i * kBf16Cols, x.columns * sizeof(float));
}

}  // namespace

AmxScope::AmxScope() { ++tiles.depth; }
AmxScope::~AmxScope() {
  if (--tiles.depth == 0) release();
}

void amx_bf16_product(const Bf16Strip& x) {
  internal_check(tiles.depth > 0, "amx_bf16_product outside an AmxScope");
  configure(x.rows);
  if (x.meanwhile != nullptr)
    x.rows > 16 ? multiply<true, true>(x) : multiply<false, true>(x);
  else
    x.rows > 16 ? multiply<true, false>(x) : multiply<false, false>(x);
}

}  // namespace glassformer::cpu

#undef GLASSFORMER_AMX_TARGET

#else  // no tile unit here: amx_bf16_usable() is false and nobody calls these

namespace glassformer::cpu {
namespace {
[[noreturn]] void absent() { throw InternalError("AMX called where it does not exist"); }
}  // namespace

AmxScope::AmxScope() { absent(); }
AmxScope::~AmxScope() = default;
void amx_bf16_product(const Bf16Strip&) { absent(); }

}  // namespace glassformer::cpu

#endif
