#include "kernels/cpu/bf16_tile.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "base/cpu_info.h"
#include "kernels/cpu/bf16_dot.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)

#include <immintrin.h>

// GCC 12 warns about the undefined operands inside its own AVX-512 header (GCC bug 105593).
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

// Everything below runs only where bf16_products_usable(), and every such processor has these.
#define GLASSFORMER_VECTORS __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))

namespace glassformer::cpu {
namespace {

// ------------------------------------------------------------------------------------ packing

// The bits of bfloat16 in the upper half of each lane, rounded to nearest even; NaN stays NaN.
GLASSFORMER_VECTORS inline __m512i round_upper(__m512 v) {
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_mask_or_epi32(sum, nan, bits, _mm512_set1_epi32(0x400000));
}

uint16_t narrow(uint16_t x) { return x; }
GLASSFORMER_VECTORS inline uint16_t narrow(float x) {
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
GLASSFORMER_VECTORS inline void interleave(const uint16_t* even, const uint16_t* odd, RowPair mask,
                                           uint16_t* dst) {
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
GLASSFORMER_VECTORS inline void interleave(const float* even, const float* odd, RowPair mask,
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
GLASSFORMER_VECTORS inline __m512i gather_blocks(const char* p, size_t stride) {
  const auto block = [&](size_t b) GLASSFORMER_VECTORS {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 4 * b * stride));
  };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(block(0)), block(1), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(block(2)), block(3), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// Transposes 16 × 16 units of 32 bits: unit u of line j goes to unit j of line u. Strides in bytes.
// The same scheme as TransposeBlock of tile-inl.h: the loads do the first half of the shuffles.
GLASSFORMER_VECTORS inline void transpose(const char* src, size_t src_stride, char* dst,
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
GLASSFORMER_VECTORS inline __m512i load_depth(const uint16_t* src, __mmask32 mask) {
  return _mm512_maskz_loadu_epi16(mask, src);
}
GLASSFORMER_VECTORS inline __m512i load_depth(const float* src, __mmask32 mask) {
  const auto half = [&](int h) GLASSFORMER_VECTORS {
    const auto part = static_cast<__mmask16>(mask >> (16 * h));
    const __m512i upper = round_upper(_mm512_maskz_loadu_ps(part, src + 16 * h));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(upper, 16));
  };
  return _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(1), 1);
}

// A block of k × n whose columns lie in a row each: units of 32 bits are pairs of k already.
template <class T>
GLASSFORMER_VECTORS inline void pack_columns(const T* src, size_t stride, size_t k, size_t n,
                                             uint16_t* dst) {
  alignas(64) uint16_t copy[kBf16PanelBlock];
  const uint16_t* columns = copy;
  size_t pitch = kBf16Depth;
  if constexpr (std::is_same_v<T, uint16_t>) {
    if (k == kBf16Depth && n == kBf16Cols) {
      columns = src;
      pitch = stride;
    }
  }
  if (columns == copy) {
    const __mmask32 mask = first_of_32(k);
    for (size_t j = 0; j < kBf16Cols; ++j)
      _mm512_store_si512(copy + j * kBf16Depth,
                         j < n ? load_depth(src + j * stride, mask) : _mm512_setzero_si512());
  }
  for (size_t half = 0; half < 2; ++half)
    transpose(reinterpret_cast<const char*>(columns + 16 * half * pitch), pitch * sizeof(uint16_t),
              reinterpret_cast<char*>(dst + 32 * half), 128);
}

// A block of k × n whose rows lie in a row each.
template <class T>
GLASSFORMER_VECTORS inline void pack_rows(const T* src, int64_t stride, size_t k, size_t n,
                                          uint16_t* dst) {
  const __mmask32 mask = first_of_32(n);
  for (size_t p = 0; p < kBf16Depth; p += 2) {
    const T* row = src + static_cast<int64_t>(p < k ? p : 0) * stride;
    interleave(row, p + 1 < k ? row + stride : row, {p < k ? mask : 0, p + 1 < k ? mask : 0},
               dst + p * kBf16Cols);
  }
}

// A block of k × n at any strides.
template <class T>
GLASSFORMER_VECTORS void pack_scattered(const T* src, int64_t row_stride, int64_t col_stride,
                                        size_t k, size_t n, uint16_t* dst) {
  alignas(64) uint16_t copy[kBf16PanelBlock];
  for (size_t p = 0; p < k; ++p)
    for (size_t j = 0; j < n; ++j)
      copy[p * kBf16Cols + j] =
          narrow(src[static_cast<int64_t>(p) * row_stride + static_cast<int64_t>(j) * col_stride]);
  pack_rows(copy, kBf16Cols, k, n, dst);
}

template <class T>
GLASSFORMER_VECTORS void pack_panels(const T* src, int64_t row_stride, int64_t col_stride, size_t k,
                                     size_t n, uint16_t* dst) {
  for (size_t j = 0; j < n; j += kBf16Cols) {
    const size_t columns = std::min(kBf16Cols, n - j);
    for (size_t p = 0; p < k; p += kBf16Depth, dst += kBf16PanelBlock) {
      const T* block =
          src + static_cast<int64_t>(p) * row_stride + static_cast<int64_t>(j) * col_stride;
      const size_t depth = std::min(kBf16Depth, k - p);
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
GLASSFORMER_VECTORS void pack_row_block(const uint16_t* src, int64_t row_stride, int64_t col_stride,
                                        size_t rows, size_t k, uint16_t* dst, size_t ld) {
  alignas(64) uint16_t pairs[kBf16PanelBlock], block[kBf16PanelBlock];
  pack_panels(src, col_stride, row_stride, k, rows, pairs);
  const bool full = rows == kBf16Rows;
  uint16_t* to = full ? dst : block;
  const size_t pitch = full ? ld : kBf16Depth;
  for (size_t half = 0; half < 2; ++half)
    transpose(reinterpret_cast<const char*>(pairs + 32 * half), 128,
              reinterpret_cast<char*>(to + 16 * half * pitch), pitch * sizeof(uint16_t));
  if (full) return;
  for (size_t r = 0; r < rows; ++r)
    memcpy(dst + r * ld, block + r * kBf16Depth, kBf16Depth * sizeof(uint16_t));
}

constexpr Bf16Strip strip_of(size_t rows, size_t columns, size_t k, const uint16_t* b, float* c,
                             size_t ldc, bool accumulate) {
  return {.rows = rows,
          .columns = columns,
          .blocks = bf16_padded_k(k) / kBf16Depth,
          .a = nullptr,
          .a_pitch = kBf16Depth,
          .a_pair = 2,
          .a_step = kBf16Rows * kBf16Depth,
          .a_end = nullptr,
          .b = b,
          .c = c,
          .ldc = ldc,
          .accumulate = accumulate,
          .meanwhile = nullptr};
}

void multiply(const Bf16Strip& x) {
  static const bool amx = amx_bf16_usable();
  amx ? amx_bf16_product(x) : dot_bf16_product(x);
}

}  // namespace

Bf16Scope::Bf16Scope() {
  if (amx_bf16_usable()) unit_.emplace();
}

void bf16_pack_panels(const uint16_t* src, int64_t row_stride, int64_t col_stride, size_t k,
                      size_t n, uint16_t* dst) {
  pack_panels(src, row_stride, col_stride, k, n, dst);
}

void bf16_pack_panels(const float* src, int64_t row_stride, int64_t col_stride, size_t k, size_t n,
                      uint16_t* dst) {
  pack_panels(src, row_stride, col_stride, k, n, dst);
}

Bf16Form bf16_strip_form(int64_t row_stride) {
  return row_stride == 1 && !amx_bf16_usable() ? Bf16Form::kPairs : Bf16Form::kRows;
}

GLASSFORMER_VECTORS void bf16_pack_strips(const uint16_t* src, int64_t row_stride,
                                          int64_t col_stride, size_t m, size_t k, uint16_t* dst) {
  if (bf16_strip_form(row_stride) == Bf16Form::kPairs)
    return pack_panels(src, col_stride, row_stride, k, m, dst);
  constexpr size_t kBlock = kBf16Rows * kBf16Depth;
  const size_t whole = col_stride == 1 ? k / kBf16Depth : 0;
  for (size_t i = 0; i < m; i += kBf16Rows, dst += kBf16Rows * bf16_padded_k(k)) {
    const size_t rows = std::min(kBf16Rows, m - i);
    const uint16_t* strip = src + static_cast<int64_t>(i) * row_stride;
    for (size_t r = 0; r < rows; ++r) {
      const uint16_t* row = strip + static_cast<int64_t>(r) * row_stride;
      for (size_t b = 0; b < whole; ++b)
        _mm512_storeu_si512(dst + b * kBlock + r * kBf16Depth,
                            _mm512_loadu_si512(row + b * kBf16Depth));
    }
    for (size_t p = whole * kBf16Depth; p < k; p += kBf16Depth)
      pack_row_block(strip + static_cast<int64_t>(p) * col_stride, row_stride, col_stride, rows,
                     std::min(kBf16Depth, k - p), dst + p * kBf16Rows, kBf16Depth);
  }
}

void bf16_strip_product(size_t rows, size_t columns, size_t k, const uint16_t* a_strip,
                        Bf16Form form, const uint16_t* b_panel, float* c, size_t ldc,
                        bool accumulate, const Bf16Meanwhile* meanwhile) {
  Bf16Strip strip = strip_of(rows, columns, k, b_panel, c, ldc, accumulate);
  strip.a = a_strip;
  strip.meanwhile = meanwhile;
  if (form == Bf16Form::kPairs) {
    strip.a_pitch = 2;
    strip.a_pair = 2 * kBf16Rows;
  }
  multiply(strip);
}

void bf16_tile_product(size_t m, size_t n, size_t k, const uint16_t* a, size_t lda,
                       const uint16_t* b_panels, float* c, size_t ldc, bool accumulate) {
  alignas(64) uint16_t a_end[kBf16Rows * kBf16Depth];
  const size_t rest = k % kBf16Depth;
  for (size_t i = 0; i < m; i += kBf16Rows) {
    const size_t rows = std::min(kBf16Rows, m - i);
    for (size_t r = 0; rest != 0 && r < rows; ++r) {
      memcpy(a_end + r * kBf16Depth, a + (i + r) * lda + k - rest, rest * sizeof(uint16_t));
      std::fill_n(a_end + r * kBf16Depth + rest, kBf16Depth - rest, uint16_t{0});
    }
    for (size_t j = 0; j < n; j += kBf16Cols) {
      Bf16Strip strip = strip_of(rows, std::min(kBf16Cols, n - j), k,
                                 b_panels + j * bf16_padded_k(k), c + i * ldc + j, ldc, accumulate);
      strip.a = a + i * lda;
      strip.a_pitch = lda;
      strip.a_step = kBf16Depth;
      strip.a_end = rest != 0 ? a_end : nullptr;
      multiply(strip);
    }
  }
}

}  // namespace glassformer::cpu

#undef GLASSFORMER_VECTORS

#else  // bf16_products_usable() is false and nobody calls these

namespace glassformer::cpu {
namespace {
[[noreturn]] void absent() { throw InternalError("bfloat16 products called where none exist"); }
}  // namespace

Bf16Scope::Bf16Scope() { absent(); }
void bf16_pack_panels(const uint16_t*, int64_t, int64_t, size_t, size_t, uint16_t*) { absent(); }
void bf16_pack_panels(const float*, int64_t, int64_t, size_t, size_t, uint16_t*) { absent(); }
void bf16_pack_strips(const uint16_t*, int64_t, int64_t, size_t, size_t, uint16_t*) { absent(); }
Bf16Form bf16_strip_form(int64_t) { absent(); }
void bf16_strip_product(size_t, size_t, size_t, const uint16_t*, Bf16Form, const uint16_t*, float*,
                        size_t, bool, const Bf16Meanwhile*) {
  absent();
}
void bf16_tile_product(size_t, size_t, size_t, const uint16_t*, size_t, const uint16_t*, float*,
                       size_t, bool) {
  absent();
}

}  // namespace glassformer::cpu

#endif
