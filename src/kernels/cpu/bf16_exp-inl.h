// factor · exp(x - shift) of numbers that come from bfloat16, in fewer steps than Exp2 (exp-inl.h)
// takes: the shift is a part of what rounds x to a power that is looked up, and the factor one of
// the line that makes up for the rest. Only where vectors have 512 bits.
//
// Included once per Highway target, so the guard flips with it.

#if defined(GLASSFORMER_KERNELS_CPU_BF16_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_BF16_EXP_INL_H_
#undef GLASSFORMER_KERNELS_CPU_BF16_EXP_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_BF16_EXP_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <hwy/highway.h>

#include "kernels/cpu/exp-inl.h"
#include "kernels/cpu/flat-inl.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/pieces.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Whether there is a ShiftedExp for T on this target.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
template <class T>
constexpr bool kHasShiftedExp =
    std::is_same_v<T, hwy::bfloat16_t>&& hn::MaxLanes(hn::ScalableTag<float>()) * sizeof(float) ==
    64;
#else
template <class T>
constexpr bool kHasShiftedExp = false;
#endif

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86

// x · log2 e = s + r, where s - shift · log2 e is near a multiple of 1/32 and |r| <= 1/64; then
// exp(x - shift) = 2^(s - ..) · 2^r, of which the first is looked up (kPowers). The second is a
// line for what becomes bfloat16 again, relative error 3.0e-5, and a parabola for what is added up,
// 2e-7. Below e^-87 it is 0, above e^87 anything; NaN stays.
class ShiftedExp {
 public:
  // Where x · log2 e and the shift can be told apart to a 32nd.
  static bool serves(float shift) { return std::abs(shift) < 60000.0F; }
  static bool serves_sums(float shift) { return serves(shift) && shift > -80.0F; }

  explicit ShiftedExp(float shift, float factor = 1.0F) {
    constexpr double kMagic = 393216.0;  // 1.5·2^18: the low bits of kMagic + s are 32ths of s
    constexpr double kStart = 1.0000294, kSlope = 0.6931607;  // of 2^r between -1/64 and 1/64
    constexpr double kTerms[] = {1.0, 0.69315733, 0.2402265};
    const double base = static_cast<double>(shift) * static_cast<double>(kLog2E);  // as x is taken
    const double rounded = std::nearbyint(base * Powers::kCount) / Powers::kCount;
    const double left = std::exp2(rounded - base) * static_cast<double>(factor);
    magic_ = _mm512_set1_ps(static_cast<float>(kMagic - rounded));
    const auto scaled = [&](double c) { return _mm512_set1_ps(static_cast<float>(c * left)); };
    start_ = scaled(kStart), slope_ = scaled(kSlope);
    for (int i = 0; i < 3; ++i) terms_[i] = scaled(kTerms[i]);
    least_ = _mm512_set1_ps(static_cast<float>(static_cast<double>(shift) - 87.0));
  }

  HWY_INLINE __m512 operator()(__m512 x) const {
    const Split f = split(x);
    return _mm512_maskz_mul_ps(f.counts, f.power, _mm512_fmadd_ps(f.r, slope_, start_));
  }
  // sum + the same, more exactly
  HWY_INLINE __m512 added(__m512 x, __m512 sum) const {
    const Split f = split(x);
    const __m512 rest = _mm512_fmadd_ps(f.r, terms_[2], terms_[1]);
    return _mm512_mask3_fmadd_ps(f.power, _mm512_fmadd_ps(f.r, rest, terms_[0]), sum, f.counts);
  }

 private:
  struct Split {
    __m512 power, r;
    __mmask16 counts;  // where it is not 0
  };
  HWY_INLINE Split split(__m512 x) const {
    const __m512 log2_e = _mm512_set1_ps(kLog2E);
    const __m512 sum = _mm512_fmadd_ps(x, log2_e, magic_);
    const __m512 r = _mm512_fmsub_ps(x, log2_e, _mm512_sub_ps(sum, magic_));
    const __m512i n = _mm512_castps_si512(sum);
    const __m512i entry = _mm512_permutex2var_epi32(_mm512_load_si512(kPowers.bits), n,
                                                    _mm512_load_si512(kPowers.bits + 16));
    const __m512i power = _mm512_add_epi32(entry, _mm512_slli_epi32(n, Powers::kShift));
    return {_mm512_castsi512_ps(power), r, _mm512_cmp_ps_mask(x, least_, _CMP_NLT_UQ)};
  }

  __m512 magic_, least_, start_, slope_, terms_[3];
};

// The sum of exp(x_j - shift) over a row, for shift > -80; infinite where one of them is too large,
// which is looked at apart, and NaN where one is. Numbers are read in pairs: the lower one is a
// float32 when it has moved up, the upper one when the lower is gone. add(exp, even, odd, sums, i)
// adds the exponentials of numbers i to i + 31, at even places and at odd ones, to two sums; beyond
// the end of the row they are those of -infinity. beside(i, lines) comes before, for two lines of
// 32 numbers or for one: other work, to fill what this one leaves of the processor. kAhead: how
// many bytes ahead memory is asked for.
template <size_t kAhead, class F, class G>
HWY_INLINE float SumShiftedExps(const hwy::bfloat16_t* x, int64_t width, float shift, F&& add,
                                G&& beside) {
  constexpr int64_t kLine = 32, kLines = 2;
  constexpr int64_t kBlock = 2048;  // summed by itself: small numbers among themselves
  const ShiftedExp exp(shift);
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
  const __m512i none = _mm512_set1_epi16(static_cast<int16_t>(0xFF80));  // -infinity
  __m512 total = _mm512_setzero_ps();
  __m512i most = none;  // positive numbers have the order of their bits
  const auto take = [&](__m512i pairs, __m512* sums, int64_t i) HWY_ATTR {
    add(exp, _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)),
        _mm512_castsi512_ps(_mm512_and_si512(pairs, upper)), sums, i);
    most = _mm512_max_epi16(most, pairs);
  };
  for (int64_t begin = 0; begin < width; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, width);
    __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                      _mm512_setzero_ps()};
    int64_t i = begin;
    for (; i + kLines * kLine <= end; i += kLines * kLine) {
      __m512i pairs[kLines];  // before anything is stored that might lie in their place
      for (int64_t k = 0; k < kLines; ++k) {
        FetchAhead<kAhead>(x + i + k * kLine);
        pairs[k] = _mm512_loadu_si512(x + i + k * kLine);
      }
      beside(i, kLines);
      for (int64_t k = 0; k < kLines; ++k) take(pairs[k], sums + k % 2 * 2, i + k * kLine);
    }
    for (; i < end; i += kLine) {
      const auto left = static_cast<uint32_t>(std::min(end - i, kLine));
      const __mmask32 there = left == kLine ? ~uint32_t{0} : (uint32_t{1} << left) - 1;
      beside(i, 1);
      take(_mm512_mask_loadu_epi16(none, there, x + i), sums, i);
    }
    total = _mm512_add_ps(
        total, _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
  }
  const float sum = _mm512_reduce_add_ps(total);
  const auto limit = static_cast<int16_t>(std::bit_cast<uint32_t>(shift + 86.0F) >> 16);
  if (_mm512_cmpgt_epi16_mask(most, _mm512_set1_epi16(limit)) == 0) return sum;
  return std::isnan(sum) ? sum : std::numeric_limits<float>::infinity();
}

HWY_INLINE float SumShiftedExps(const hwy::bfloat16_t* x, int64_t width, float shift) {
  const auto add = [](const ShiftedExp& exp, __m512 even, __m512 odd, __m512* sums, int64_t)
                       HWY_ATTR {
                         sums[0] = exp.added(even, sums[0]);
                         sums[1] = exp.added(odd, sums[1]);
                       };
  constexpr size_t kAhead = 16384;
  return SumShiftedExps<kAhead>(x, width, shift, add, [](int64_t, int64_t) HWY_ATTR {});
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
