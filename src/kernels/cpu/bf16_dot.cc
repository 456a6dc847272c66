#include "kernels/cpu/bf16_dot.h"

#include <algorithm>

#include "base/check.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)

#include <immintrin.h>

#define GLASSFORMER_DOT_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

namespace glassformer::cpu {
namespace {

constexpr size_t kMostRows = 12;  // with two vectors of sums each, two of B and one of A

// A pair of k in all lanes.
GLASSFORMER_DOT_TARGET inline __m512bh pair(const uint16_t* a) {
  int32_t bits;
  __builtin_memcpy(&bits, a, sizeof(bits));
  return (__m512bh)_mm512_set1_epi32(bits);
}

// The first `count` of 16 columns, of which there may be more or none.
__mmask16 first_columns(size_t count) {
  return count < 16 ? static_cast<__mmask16>((1U << count) - 1) : __mmask16{0xFFFF};
}

// How A lies: rows some pitch apart, or packed in one of the two forms.
enum class Layout { kPitched, kRows, kPairs };

// Rows first .. first + kRows of a strip.
template <size_t kRows, Layout kLayout>
GLASSFORMER_DOT_TARGET void multiply_rows(const Bf16Strip& x, size_t first) {
  const __mmask16 left = first_columns(x.columns);
  const __mmask16 right = first_columns(x.columns - std::min<size_t>(x.columns, 16));
  float* c = x.c + first * x.ldc;
  __m512 sum[kRows][2];
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) {
    sum[r][0] = x.accumulate ? _mm512_maskz_loadu_ps(left, c + r * x.ldc) : _mm512_setzero_ps();
    sum[r][1] =
        x.accumulate ? _mm512_maskz_loadu_ps(right, c + r * x.ldc + 16) : _mm512_setzero_ps();
  }
  const auto add_block = [&](const uint16_t* a, size_t pitch, const uint16_t* b)
      GLASSFORMER_DOT_TARGET __attribute__((always_inline)) {
    constexpr size_t kStep = kLayout == Layout::kPairs ? kBf16Rows : 1;  // elements a step of k
#pragma GCC unroll 4
    for (size_t p = 0; p < kBf16Depth; p += 2, b += 2 * kBf16Cols) {
      const auto low = (__m512bh)_mm512_loadu_si512(b);
      const auto high = (__m512bh)_mm512_loadu_si512(b + kBf16Cols);
#pragma GCC unroll 12
      for (size_t r = 0; r < kRows; ++r) {
        const __m512bh of_a = pair(a + r * pitch + p * kStep);
        sum[r][0] = _mm512_dpbf16_ps(sum[r][0], of_a, low);
        sum[r][1] = _mm512_dpbf16_ps(sum[r][1], of_a, high);
      }
    }
  };
  const size_t pitch = kLayout == Layout::kPairs  ? 2
                       : kLayout == Layout::kRows ? kBf16Depth
                                                  : x.a_pitch;
  const size_t whole = x.blocks - (x.a_end != nullptr ? 1 : 0);
  for (size_t block = 0; block < whole; ++block)
    add_block(x.a + first * pitch + block * x.a_step, pitch, x.b + block * kBf16PanelBlock);
  if (x.a_end != nullptr)
    add_block(x.a_end + first * kBf16Depth, kBf16Depth, x.b + whole * kBf16PanelBlock);
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) {
    if (x.columns == kBf16Cols) {  // a store with a mask takes longer
      _mm512_storeu_ps(c + r * x.ldc, sum[r][0]);
      _mm512_storeu_ps(c + r * x.ldc + 16, sum[r][1]);
    } else {
      _mm512_mask_storeu_ps(c + r * x.ldc, left, sum[r][0]);
      _mm512_mask_storeu_ps(c + r * x.ldc + 16, right, sum[r][1]);
    }
  }
}

template <size_t kRows, Layout kLayout>
void multiply_at_most(const Bf16Strip& x, size_t first, size_t rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return multiply_at_most<kRows - 1, kLayout>(x, first, rows);
  }
  multiply_rows<kRows, kLayout>(x, first);
}

template <Layout kLayout>
void multiply(const Bf16Strip& x) {
  const size_t parts = (x.rows + kMostRows - 1) / kMostRows;
  for (size_t part = 0; part < parts; ++part) {
    const size_t first = part * x.rows / parts, end = (part + 1) * x.rows / parts;
    multiply_at_most<kMostRows, kLayout>(x, first, end - first);
  }
}

}  // namespace

void dot_bf16_product(const Bf16Strip& x) {
  for (size_t part = 0; x.meanwhile != nullptr && part < kBf16Parts; ++part) (*x.meanwhile)(part);
  if (x.a_pair != 2) return multiply<Layout::kPairs>(x);
  x.a_pitch == kBf16Depth ? multiply<Layout::kRows>(x) : multiply<Layout::kPitched>(x);
}

}  // namespace glassformer::cpu

#undef GLASSFORMER_DOT_TARGET

#else  // avx512_bf16_usable() is false and nobody calls this

namespace glassformer::cpu {

void dot_bf16_product(const Bf16Strip&) {
  throw InternalError("AVX512-BF16 called where it does not exist");
}

}  // namespace glassformer::cpu

#endif
