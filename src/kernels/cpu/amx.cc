#include "kernels/cpu/amx.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/check.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)

#include <immintrin.h>

// GCC 12 warns about the undefined operands inside its own AVX-512 header (GCC bug 105593).
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

// Everything below runs only where amx_bf16_usable(), and every such processor has these.
#define GLASSFORMER_AMX_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-bf16")))

namespace glassformer::cpu {
namespace {

constexpr size_t kPanelBlock = kAmxDepth * kAmxCols;  // values of a panel per 32 of k

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

// C += A · B over one block of 32 of k.
template <bool kTwoHigh>
GLASSFORMER_AMX_TARGET inline void step(const uint16_t* a, size_t pitch, const uint16_t* b) {
  _tile_loadd(6, b, 128);
  _tile_loadd(4, a, pitch);
  _tile_loadd(7, b + 32, 128);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  if constexpr (kTwoHigh) {
    _tile_loadd(5, reinterpret_cast<const char*>(a) + 16 * pitch, pitch);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

constexpr size_t kBlocksAhead = 4;  // 8 KB of B

// Where A lies: rows `pitch` and blocks of 32 of k `step` elements apart.
struct ALayout {
  size_t pitch, step;
};

template <bool kTwoHigh>
GLASSFORMER_AMX_TARGET void tile_kernel(size_t rows, size_t k, const uint16_t* a, ALayout layout,
                                        const uint16_t* b, float* c, size_t ldc, size_t columns,
                                        bool accumulate, const float* next) {
  alignas(64) uint16_t a_end[kAmxRows * kAmxDepth];
  alignas(64) float edge[kAmxRows * kAmxCols];
  const size_t whole = k / kAmxDepth, rest = k % kAmxDepth;
  for (size_t i = 0; rest != 0 && i < rows; ++i) {
    memcpy(a_end + i * kAmxDepth, a + i * layout.pitch + whole * layout.step,
           rest * sizeof(uint16_t));
    std::fill_n(a_end + i * kAmxDepth + rest, kAmxDepth - rest, uint16_t{0});
  }
  const bool narrow = columns < kAmxCols;
  for (size_t i = 0; narrow && accumulate && i < rows; ++i) {
    memcpy(edge + i * kAmxCols, c + i * ldc, columns * sizeof(float));
    std::fill_n(edge + i * kAmxCols + columns, kAmxCols - columns, 0.0f);
  }
  char* to = reinterpret_cast<char*>(narrow ? edge : c);
  const size_t to_pitch = (narrow ? kAmxCols : ldc) * sizeof(float);
  asm volatile("" ::: "memory");  // what was written above is read by tile loads
  if (accumulate)
    load_tile<kTwoHigh>(to, to_pitch);
  else
    zero_tile<kTwoHigh>();
  constexpr size_t kNextLines = kAmxRows * kAmxCols / 16;
  size_t line = next != nullptr ? 0 : kNextLines;
  for (size_t block = 0; block < whole; ++block) {
    step<kTwoHigh>(a + block * layout.step, layout.pitch * sizeof(uint16_t),
                   b + block * kPanelBlock);
    // Few rows take B at the speed of memory, and tile loads do not fetch ahead far enough.
    if constexpr (!kTwoHigh)
      for (size_t ahead = 0; ahead < kPanelBlock; ahead += 32)
        _mm_prefetch(
            reinterpret_cast<const char*>(b + (block + kBlocksAhead) * kPanelBlock + ahead),
            _MM_HINT_T0);
    for (const size_t end = std::min(kNextLines, line + 8); line < end; ++line)
      _mm_prefetch(reinterpret_cast<const char*>(next + 16 * line), _MM_HINT_T0);
  }
  if (rest != 0) step<kTwoHigh>(a_end, kAmxDepth * sizeof(uint16_t), b + whole * kPanelBlock);
  store_tile<kTwoHigh>(to, to_pitch);
  for (size_t i = 0; narrow && i < rows; ++i)
    memcpy(c + i * ldc, edge + i * kAmxCols, columns * sizeof(float));
}

// ------------------------------------------------------------------------------------ packing

// The bits of bfloat16 in the upper half of each lane, rounded to nearest even; NaN stays NaN.
GLASSFORMER_AMX_TARGET inline __m512i round_upper(__m512 v) {
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_mask_or_epi32(sum, nan, bits, _mm512_set1_epi32(0x400000));
}

uint16_t narrow(uint16_t x) { return x; }
GLASSFORMER_AMX_TARGET inline uint16_t narrow(float x) {
  const __m128i wide = _mm512_castsi512_si128(round_upper(_mm512_set1_ps(x)));
  return static_cast<uint16_t>(static_cast<uint32_t>(_mm_cvtsi128_si32(wide)) >> 16);
}

// The first `count` of 32.
__mmask32 first_of_32(size_t count) {
  return count < 32 ? (__mmask32{1} << count) - 1 : ~__mmask32{0};
}

// 32 columns of rows p and p + 1, interleaved; zeros where a mask has none.
struct RowPair {
  __mmask32 even, odd;
};
GLASSFORMER_AMX_TARGET inline void interleave(const uint16_t* even, const uint16_t* odd,
                                              RowPair mask, uint16_t* dst) {
  alignas(64) static constexpr uint16_t kLow[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                    37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                    11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i low = _mm512_load_si512(kLow);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  const __m512i x = _mm512_maskz_loadu_epi16(mask.even, even);
  const __m512i y = _mm512_maskz_loadu_epi16(mask.odd, odd);
  _mm512_storeu_si512(dst, _mm512_permutex2var_epi16(x, low, y));
  _mm512_storeu_si512(dst + 32, _mm512_permutex2var_epi16(x, high, y));
}
GLASSFORMER_AMX_TARGET inline void interleave(const float* even, const float* odd, RowPair mask,
                                              uint16_t* dst) {
  for (int half = 0; half < 2; ++half) {
    const auto part = [&](__mmask32 of) { return static_cast<__mmask16>(of >> (16 * half)); };
    const __m512 lower = _mm512_maskz_loadu_ps(part(mask.even), even + 16 * half);
    const __m512i x = _mm512_srli_epi32(round_upper(lower), 16);
    const __m512i y = round_upper(_mm512_maskz_loadu_ps(part(mask.odd), odd + 16 * half));
    const __m512i upper = _mm512_and_si512(y, _mm512_set1_epi32(static_cast<int>(0xFFFF0000)));
    _mm512_storeu_si512(dst + 32 * half, _mm512_or_si512(x, upper));
  }
}

// Blocks b = 0..3 of the result are the 16 bytes at p + 4b·stride.
GLASSFORMER_AMX_TARGET inline __m512i gather_blocks(const char* p, size_t stride) {
  const auto block = [&](size_t b) GLASSFORMER_AMX_TARGET {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 4 * b * stride));
  };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(block(0)), block(1), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(block(2)), block(3), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// Transposes 16 × 16 units of 32 bits: unit u of line j goes to unit j of line u. Strides in bytes.
// The same scheme as TransposeBlock of tile-inl.h: the loads do the first half of the shuffles.
GLASSFORMER_AMX_TARGET inline void transpose(const char* src, size_t src_stride, char* dst,
                                             size_t dst_stride) {
  __m512i v[4][4];
#pragma GCC unroll 4
  for (size_t q = 0; q < 4; ++q)
#pragma GCC unroll 4
    for (size_t g = 0; g < 4; ++g)
      v[q][g] = gather_blocks(src + q * src_stride + 16 * g, src_stride);
#pragma GCC unroll 4
  for (size_t g = 0; g < 4; ++g) {
    const __m512i lo01 = _mm512_unpacklo_epi32(v[0][g], v[1][g]);
    const __m512i hi01 = _mm512_unpackhi_epi32(v[0][g], v[1][g]);
    const __m512i lo23 = _mm512_unpacklo_epi32(v[2][g], v[3][g]);
    const __m512i hi23 = _mm512_unpackhi_epi32(v[2][g], v[3][g]);
    char* line = dst + 4 * g * dst_stride;
    _mm512_storeu_si512(line, _mm512_unpacklo_epi64(lo01, lo23));
    _mm512_storeu_si512(line + dst_stride, _mm512_unpackhi_epi64(lo01, lo23));
    _mm512_storeu_si512(line + 2 * dst_stride, _mm512_unpacklo_epi64(hi01, hi23));
    _mm512_storeu_si512(line + 3 * dst_stride, _mm512_unpackhi_epi64(hi01, hi23));
  }
}

// 32 of k in a row, as bfloat16; zeros where the mask has none.
GLASSFORMER_AMX_TARGET inline __m512i load_depth(const uint16_t* src, __mmask32 mask) {
  return _mm512_maskz_loadu_epi16(mask, src);
}
GLASSFORMER_AMX_TARGET inline __m512i load_depth(const float* src, __mmask32 mask) {
  const auto half = [&](int h) GLASSFORMER_AMX_TARGET {
    const auto part = static_cast<__mmask16>(mask >> (16 * h));
    const __m512i upper = round_upper(_mm512_maskz_loadu_ps(part, src + 16 * h));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(upper, 16));
  };
  return _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(1), 1);
}

// A block of k × n whose columns lie in a row each: units of 32 bits are pairs of k already.
template <class T>
GLASSFORMER_AMX_TARGET inline void pack_columns(const T* src, size_t stride, size_t k, size_t n,
                                                uint16_t* dst) {
  alignas(64) uint16_t copy[kPanelBlock];
  const uint16_t* columns = copy;
  size_t pitch = kAmxDepth;
  if constexpr (std::is_same_v<T, uint16_t>) {
    if (k == kAmxDepth && n == kAmxCols) {
      columns = src;
      pitch = stride;
    }
  }
  if (columns == copy) {
    const __mmask32 mask = first_of_32(k);
    for (size_t j = 0; j < kAmxCols; ++j)
      _mm512_store_si512(copy + j * kAmxDepth,
                         j < n ? load_depth(src + j * stride, mask) : _mm512_setzero_si512());
  }
  for (size_t half = 0; half < 2; ++half)
    transpose(reinterpret_cast<const char*>(columns + 16 * half * pitch), pitch * sizeof(uint16_t),
              reinterpret_cast<char*>(dst + 32 * half), 128);
}

// A block of k × n whose rows lie in a row each.
template <class T>
GLASSFORMER_AMX_TARGET inline void pack_rows(const T* src, int64_t stride, size_t k, size_t n,
                                             uint16_t* dst) {
  const __mmask32 mask = first_of_32(n);
  for (size_t p = 0; p < kAmxDepth; p += 2) {
    const T* row = src + static_cast<int64_t>(p < k ? p : 0) * stride;
    interleave(row, p + 1 < k ? row + stride : row, {p < k ? mask : 0, p + 1 < k ? mask : 0},
               dst + p * kAmxCols);
  }
}

// A block of k × n at any strides.
template <class T>
GLASSFORMER_AMX_TARGET void pack_scattered(const T* src, int64_t row_stride, int64_t col_stride,
                                           size_t k, size_t n, uint16_t* dst) {
  alignas(64) uint16_t copy[kPanelBlock];
  for (size_t p = 0; p < k; ++p)
    for (size_t j = 0; j < n; ++j)
      copy[p * kAmxCols + j] =
          narrow(src[static_cast<int64_t>(p) * row_stride + static_cast<int64_t>(j) * col_stride]);
  pack_rows(copy, kAmxCols, k, n, dst);
}

template <class T>
GLASSFORMER_AMX_TARGET void pack_panels(const T* src, int64_t row_stride, int64_t col_stride,
                                        size_t k, size_t n, uint16_t* dst) {
  for (size_t j = 0; j < n; j += kAmxCols) {
    const size_t columns = std::min(kAmxCols, n - j);
    for (size_t p = 0; p < k; p += kAmxDepth, dst += kPanelBlock) {
      const T* block =
          src + static_cast<int64_t>(p) * row_stride + static_cast<int64_t>(j) * col_stride;
      const size_t depth = std::min(kAmxDepth, k - p);
      if (col_stride == 1)
        pack_rows(block, row_stride, depth, columns, dst);
      else if (row_stride == 1)
        pack_columns(block, static_cast<size_t>(col_stride), depth, columns, dst);
      else
        pack_scattered(block, row_stride, col_stride, depth, columns, dst);
    }
  }
}

// A block of at most 32 rows × 32 of k to rows `ld` apart, zeros up to 32 of k. It is interleaved
// as a panel of B would be (pairs of k side by side), which leaves 32-bit units to transpose.
GLASSFORMER_AMX_TARGET void pack_row_block(const uint16_t* src, int64_t row_stride,
                                           int64_t col_stride, size_t rows, size_t k, uint16_t* dst,
                                           size_t ld) {
  alignas(64) uint16_t pairs[kPanelBlock], block[kPanelBlock];
  pack_panels(src, col_stride, row_stride, k, rows, pairs);
  const bool full = rows == kAmxRows;
  uint16_t* to = full ? dst : block;
  const size_t pitch = full ? ld : kAmxDepth;
  for (size_t half = 0; half < 2; ++half)
    transpose(reinterpret_cast<const char*>(pairs + 32 * half), 128,
              reinterpret_cast<char*>(to + 16 * half * pitch), pitch * sizeof(uint16_t));
  if (full) return;
  for (size_t r = 0; r < rows; ++r)
    memcpy(dst + r * ld, block + r * kAmxDepth, kAmxDepth * sizeof(uint16_t));
}

}  // namespace

AmxScope::AmxScope() { ++tiles.depth; }
AmxScope::~AmxScope() {
  if (--tiles.depth == 0) release();
}

void amx_pack_panels(const uint16_t* src, int64_t row_stride, int64_t col_stride, size_t k,
                     size_t n, uint16_t* dst) {
  pack_panels(src, row_stride, col_stride, k, n, dst);
}

void amx_pack_panels(const float* src, int64_t row_stride, int64_t col_stride, size_t k, size_t n,
                     uint16_t* dst) {
  pack_panels(src, row_stride, col_stride, k, n, dst);
}

GLASSFORMER_AMX_TARGET void amx_pack_strips(const uint16_t* src, int64_t row_stride,
                                            int64_t col_stride, size_t m, size_t k, uint16_t* dst) {
  constexpr size_t kBlock = kAmxRows * kAmxDepth;
  const size_t whole = col_stride == 1 ? k / kAmxDepth : 0;
  for (size_t i = 0; i < m; i += kAmxRows, dst += kAmxRows * amx_padded_k(k)) {
    const size_t rows = std::min(kAmxRows, m - i);
    const uint16_t* strip = src + static_cast<int64_t>(i) * row_stride;
    for (size_t r = 0; r < rows; ++r) {
      const uint16_t* row = strip + static_cast<int64_t>(r) * row_stride;
      for (size_t b = 0; b < whole; ++b)
        _mm512_storeu_si512(dst + b * kBlock + r * kAmxDepth,
                            _mm512_loadu_si512(row + b * kAmxDepth));
    }
    for (size_t p = whole * kAmxDepth; p < k; p += kAmxDepth)
      pack_row_block(strip + static_cast<int64_t>(p) * col_stride, row_stride, col_stride, rows,
                     std::min(kAmxDepth, k - p), dst + p * kAmxRows, kAmxDepth);
  }
}

void amx_strip_product(size_t rows, size_t columns, size_t k, const uint16_t* a_strip,
                       const uint16_t* b_panel, float* c, size_t ldc, bool accumulate,
                       const float* next) {
  internal_check(tiles.depth > 0, "amx_strip_product outside an AmxScope");
  configure(rows);
  const auto kernel = rows > 16 ? tile_kernel<true> : tile_kernel<false>;
  kernel(rows, amx_padded_k(k), a_strip, {kAmxDepth, kAmxRows * kAmxDepth}, b_panel, c, ldc,
         columns, accumulate, next);
}

void amx_tile_product(size_t m, size_t n, size_t k, const uint16_t* a, size_t lda,
                      const uint16_t* b_panels, float* c, size_t ldc, bool accumulate) {
  internal_check(tiles.depth > 0, "amx_tile_product outside an AmxScope");
  const size_t panel_size = amx_padded_k(k) * kAmxCols;
  const ALayout layout{lda, kAmxDepth};
  // Whole strips first, then the rows that are left: the tiles are configured twice at most.
  const size_t whole = m / kAmxRows * kAmxRows;
  if (whole != 0) {
    configure(kAmxRows);
    for (size_t j = 0; j < n; j += kAmxCols)
      for (size_t i = 0; i < whole; i += kAmxRows)
        tile_kernel<true>(kAmxRows, k, a + i * lda, layout, b_panels + j / kAmxCols * panel_size,
                          c + i * ldc + j, ldc, std::min(kAmxCols, n - j), accumulate, nullptr);
  }
  const size_t rows = m - whole;
  if (rows == 0) return;
  configure(rows);
  const auto kernel = rows > 16 ? tile_kernel<true> : tile_kernel<false>;
  for (size_t j = 0; j < n; j += kAmxCols)
    kernel(rows, k, a + whole * lda, layout, b_panels + j / kAmxCols * panel_size,
           c + whole * ldc + j, ldc, std::min(kAmxCols, n - j), accumulate, nullptr);
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
void amx_pack_panels(const uint16_t*, int64_t, int64_t, size_t, size_t, uint16_t*) { absent(); }
void amx_pack_panels(const float*, int64_t, int64_t, size_t, size_t, uint16_t*) { absent(); }
void amx_pack_strips(const uint16_t*, int64_t, int64_t, size_t, size_t, uint16_t*) { absent(); }
void amx_strip_product(size_t, size_t, size_t, const uint16_t*, const uint16_t*, float*, size_t,
                       bool, const float*) {
  absent();
}
void amx_tile_product(size_t, size_t, size_t, const uint16_t*, size_t, const uint16_t*, float*,
                      size_t, bool) {
  absent();
}

}  // namespace glassformer::cpu

#endif
