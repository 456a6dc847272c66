// Exponentials of numbers that are not large: what softmax and attention take of differences from
// a maximum. Fewer steps than Exp (math-inl.h), which has both ends to mind.
//
// Included once per Highway target, so the guard flips with it.

#if defined(GLASSFORMER_KERNELS_CPU_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_EXP_INL_H_
#undef GLASSFORMER_KERNELS_CPU_EXP_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_EXP_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/pieces.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr float kLog2E = 1.44269504F;
constexpr float kLn2 = 0.693147181F;

// True where the exponential of a number that is too large is infinite or NaN, not just anything:
// ExpOfSmall's, and the short polynomial's.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
constexpr bool kExpSaturates = true;
#else
constexpr bool kExpSaturates = false;
#endif

namespace math {

// x = n + r with n whole and 0 <= r < 1; n may be left in x, where Scaled takes it from there.
template <class D>
struct Split {
  hn::Vec<D> n, r;
};
template <class D>
HWY_INLINE Split<D> SplitOf(D /*d*/, hn::Vec<D> x) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if constexpr (hn::MaxLanes(D()) * sizeof(float) == 64) {
    constexpr int kDown = 9;
    return {x, hn::Vec<D>{_mm512_reduce_ps(x.raw, kDown)}};
  }
#endif
  const auto n = hn::Floor(x);
  return {n, hn::Sub(x, n)};
}

constexpr float kMagic = 12582912.0F;  // 1.5·2^23: the low bits of kMagic + n are n

// p · 2^n for n from -126 to 126 and 1/2 <= p <= 2, and zero where x < least.
template <class D>
HWY_INLINE hn::Vec<D> Scaled(D d, hn::Vec<D> p, hn::Vec<D> n, hn::Vec<D> x, float least) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if constexpr (hn::MaxLanes(D()) * sizeof(float) == 64) {
    const __mmask16 kept = _mm512_cmp_ps_mask(x.raw, _mm512_set1_ps(least), _CMP_NLT_UQ);
    return hn::Vec<D>{_mm512_maskz_scalef_ps(kept, p.raw, n.raw)};
  }
#endif
  const hn::RebindToSigned<D> di;
  const auto scale = hn::ShiftLeft<23>(hn::BitCast(di, hn::Add(n, hn::Set(d, kMagic))));
  const auto scaled = hn::BitCast(d, hn::Add(hn::BitCast(di, p), scale));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, least)), scaled);
}

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86

// x = n/32 + r: 2^(n/32) is looked up (kPowers), and 2^r is a parabola. Five multiplications and
// additions in place of eight, and none waits long.
HWY_INLINE __m512 Exp2LookedUp(__m512 x) {
  constexpr float kMagic32 = kMagic / Powers::kCount;  // its low bits are then 32ths
  const __m512 magic = _mm512_set1_ps(kMagic32);
  const __m512 low = _mm512_max_ps(_mm512_set1_ps(-127.0F), x);  // in this order NaN stays
  const __m512 sum = _mm512_add_ps(low, magic);
  const __m512 r = _mm512_sub_ps(low, _mm512_sub_ps(sum, magic));
  const __m512i n = _mm512_castps_si512(sum);
  const __m512i entry = _mm512_permutex2var_epi32(_mm512_load_si512(kPowers.bits), n,
                                                  _mm512_load_si512(kPowers.bits + 16));
  const __m512 power =
      _mm512_castsi512_ps(_mm512_add_epi32(entry, _mm512_slli_epi32(n, Powers::kShift)));
  const __m512 slope = _mm512_fmadd_ps(r, _mm512_set1_ps(0.2402265F), _mm512_set1_ps(0.69315733F));
  return _mm512_fmadd_ps(_mm512_mul_ps(r, power), slope, power);
}

#endif

}  // namespace math

// 2^x for x < 127; results below the smallest normal number are 0 or subnormal, 2^-inf = 0,
// 2^0 = 1, NaN stays. Relative error measured: 1.9e-7, and 3.0e-6 with the shorter polynomial, for
// numbers that come from bfloat16 or are rounded to it (2^-9).
template <class T, class D>
HWY_INLINE hn::Vec<D> Exp2(D d, hn::Vec<D> x) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if constexpr (hn::MaxLanes(D()) * sizeof(float) == 64 && !math::kShort<T>)
    return hn::Vec<D>{math::Exp2LookedUp(x.raw)};
#endif
  constexpr float kTerms[] = {1.0F,          0.693151057F,   0.240165651F,
                              0.0557993017F, 0.00901488494F, 0.00186895637F};
  constexpr float kFewTerms[] = {1.0F, 0.693044722F, 0.241280645F, 0.0522420481F, 0.0134268114F};
  const auto split = math::SplitOf(d, x);
  hn::Vec<D> p;
  if constexpr (math::kShort<T>)
    p = Polynomial(d, split.r, kFewTerms);
  else
    p = Polynomial(d, split.r, kTerms);
  return math::Scaled(d, p, split.n, x, -126.0F);
}

// e^x for x < 88. Within 1.2 ulp; 0 where Exp gives 0, and e^0 = 1. Where the numbers come from or
// go to bfloat16 within 1e-5.
template <class T = float, class D>
HWY_INLINE hn::Vec<D> ExpOfSmall(D d, hn::Vec<D> x) {
  if constexpr (math::kShort<T>) {
    return Exp2<T>(d, hn::Mul(x, hn::Set(d, kLog2E)));
  } else if constexpr (!HWY_NATIVE_FMA) {
    return Exp(d, x);  // what follows takes x · log2 e - n to be exact
  } else {
    constexpr float kTerms[] = {1.0F,           0.693147182F,   0.240226462F,   0.0555032864F,
                                0.00961848907F, 0.00133999309F, 0.000153458124F};
    const auto log2_e = hn::Set(d, 1.44269502F), rest_of_it = hn::Set(d, 1.92596303e-8F);
    const auto magic = hn::Set(d, math::kMagic);
    const auto n = hn::Sub(hn::MulAdd(x, log2_e, magic), magic);  // whole, |r| <= 1/2
    const auto r = hn::MulAdd(x, rest_of_it, hn::MulSub(x, log2_e, n));
    return math::Scaled(d, Polynomial(d, r, kTerms), n, x, -87.3365402F);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
