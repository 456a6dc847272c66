// Elementary functions on f32 vectors, and conversions between memory types and f32.
//
// Included once per Highway target, so the guard flips with it. Every function takes the tag `d` of
// its f32 vectors (any size); lanes do not mix, NaN goes in and comes out.
// Errors given are the largest found over one float in a thousand, on AVX-512 and AVX2.

#if defined(GLASSFORMER_KERNELS_CPU_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_MATH_INL_H_
#undef GLASSFORMER_KERNELS_CPU_MATH_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_MATH_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <hwy/highway.h>

#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/pieces.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// ------------------------------------------------------------------------------------ memory types
// float, hwy::bfloat16_t and hwy::float16_t are read as f32 and written rounded to nearest even.
// No pointer needs alignment.

template <class D>
HWY_INLINE hn::Vec<D> LoadF32(D d, const float* HWY_RESTRICT p) {
  return hn::LoadU(d, p);
}

template <class D>
HWY_INLINE hn::Vec<D> LoadF32(D d, const hwy::bfloat16_t* HWY_RESTRICT p) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::RebindToUnsigned<D> d32;
  const auto bits = hn::LoadU(d16, reinterpret_cast<const uint16_t*>(p));
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if constexpr (hn::MaxLanes(D()) * sizeof(float) == 64) {  // one step: spread over the odd places
    HWY_ALIGN static constexpr uint16_t kPlaces[32] = {0, 0,  0, 1,  0, 2,  0, 3,  0, 4, 0,
                                                       5, 0,  6, 0,  7, 0,  8, 0,  9, 0, 10,
                                                       0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
    const __m512i places = _mm512_load_si512(kPlaces), wide = _mm512_castsi256_si512(bits.raw);
    const __m512i spread = _mm512_maskz_permutexvar_epi16(0xAAAAAAAA, places, wide);
    return hn::Vec<D>{_mm512_castsi512_ps(spread)};
  }
#endif
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
}

template <class D>
HWY_INLINE void StoreF32(hn::Vec<D> v, D d, float* HWY_RESTRICT p) {
  hn::StoreU(v, d, p);
}

// f32 with its upper half rounded to nearest even, as bfloat16; what is left below is of no use.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> RoundUpperHalf(D /*d*/, hn::Vec<D> v) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFu)));
  const auto quiet =
      hn::Or(bits, hn::Set(du, 0x400000u));  // the carry could turn a NaN into a number
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
}

#undef GLASSFORMER_CONVERTS_BF16
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86 && defined(__GNUC__)
#define GLASSFORMER_CONVERTS_BF16 1
#else
#define GLASSFORMER_CONVERTS_BF16 0
#endif

// bfloat16 as the result of a cast: numbers below the smallest normal one are rounded as any other.
struct CastBf16 {
  uint16_t bits;
};

// f32 as the bits of the half type T, rounded to nearest even. Highway's own conversion truncates.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> HalfBits(D d, hn::Vec<D> v, const CastBf16* /*type*/) {
  const hn::RebindToSigned<D> di;
  const auto upper = hn::ShiftRight<16>(RoundUpperHalf(d, v));
  return hn::DemoteTo(hn::Rebind<uint16_t, D>(), hn::BitCast(di, upper));
}

// What an op computes goes through the processor's own conversion where there is one, which takes
// numbers below the smallest normal one for zero, as products of bfloat16 do: looking for them in
// every vector would take a tenth of the time of a whole op. The instruction is not among those
// that Highway compiles this target for, hence the assembly.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> HalfBits(D d, hn::Vec<D> v,
                                                     const hwy::bfloat16_t* /*type*/) {
#if GLASSFORMER_CONVERTS_BF16
  if constexpr (hn::MaxLanes(D()) * sizeof(float) == 64) {
    if (HWY_LIKELY(kHasBf16Conversion)) {
      __m256i bits;
      asm("vcvtneps2bf16 %1, %0" : "=v"(bits) : "v"(v.raw));
      return hn::Vec<hn::Rebind<uint16_t, D>>{bits};
    }
  }
#endif
  return HalfBits(d, v, static_cast<const CastBf16*>(nullptr));
}

#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64

template <class D>
HWY_INLINE hn::Vec<D> LoadF32(D d, const hwy::float16_t* HWY_RESTRICT p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, D>(), p));
}

template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> HalfBits(D /*d*/, hn::Vec<D> v,
                                                     const hwy::float16_t* /*type*/) {
  const hn::Rebind<uint16_t, D> d16;
  return hn::BitCast(d16, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
}

#else  // Highway's emulation truncates and loses infinities, and SSE4 has no instruction for it.

HWY_INLINE float FloatFromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t rest = half & 0x7FFFu;
  uint32_t bits = sign;
  if (rest >= 0x7C00u) {
    bits |= 0x7F800000u | ((rest & 0x3FFu) << 13);
  } else if (rest >= 0x400u) {
    bits |= (rest << 13) + ((127u - 15u) << 23);
  } else {  // zero or subnormal: mantissa · 2^-24, exact in f32
    const float magnitude = static_cast<float>(rest) * 0x1p-24f;
    memcpy(&bits, &magnitude, sizeof(bits));
    bits |= sign;
  }
  float out;
  memcpy(&out, &bits, sizeof(out));
  return out;
}

HWY_INLINE uint16_t HalfFromFloat(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  const uint32_t sign = (bits >> 16) & 0x8000u;
  bits &= 0x7FFFFFFFu;
  uint32_t out;
  if (bits > 0x7F800000u) {
    out = 0x7E00u | ((bits >> 13) & 0x3FFu);
  } else if (bits >= 0x477FF000u) {  // rounds to 2^16 or more
    out = 0x7C00u;
  } else if (bits >= 0x38800000u) {
    out = (bits - ((127u - 15u) << 23) + 0xFFFu + ((bits >> 13) & 1u)) >> 13;
  } else {  // subnormal: adding 1/2 leaves round(x·2^24) in the low bits
    float magnitude;
    memcpy(&magnitude, &bits, sizeof(bits));
    magnitude += 0.5f;
    memcpy(&out, &magnitude, sizeof(out));
    out -= 0x3F000000u;
  }
  return static_cast<uint16_t>(sign | out);
}

template <class D>
HWY_INLINE hn::Vec<D> LoadF32(D d, const hwy::float16_t* HWY_RESTRICT p) {
  HWY_ALIGN float wide[hn::MaxLanes(D())];
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    uint16_t half;
    memcpy(&half, p + i, sizeof(half));
    wide[i] = FloatFromHalf(half);
  }
  return hn::Load(d, wide);
}

template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> HalfBits(D d, hn::Vec<D> v,
                                                     const hwy::float16_t* /*type*/) {
  HWY_ALIGN float wide[hn::MaxLanes(D())];
  HWY_ALIGN uint16_t half[hn::MaxLanes(D())];
  hn::Store(v, d, wide);
  for (size_t i = 0; i < hn::Lanes(d); ++i) half[i] = HalfFromFloat(wide[i]);
  return hn::Load(hn::Rebind<uint16_t, D>(), half);
}

#endif

template <class D, class T>
HWY_INLINE void StoreF32(hn::Vec<D> v, D d, T* HWY_RESTRICT p) {
  const hn::Rebind<uint16_t, D> d16;
  hn::StoreU(HalfBits(d, v, p), d16, reinterpret_cast<uint16_t*>(p));
}

// Two vectors, side by side.
template <class D>
HWY_INLINE void StoreTwoF32(hn::Vec<D> first, hn::Vec<D> second, D d, float* HWY_RESTRICT p) {
  hn::StoreU(first, d, p);
  hn::StoreU(second, d, p + hn::Lanes(d));
}

// Two vectors past the caches, for results larger than they are: spares reading the line before it
// is written. A half type's two vectors go out as one, for half a line at a time is slow.
// p aligned to the bytes that are written. hwy::FlushStream() when done.
template <class D>
HWY_INLINE void StreamF32(hn::Vec<D> first, hn::Vec<D> second, D d, float* HWY_RESTRICT p) {
  hn::Stream(first, d, p);
  hn::Stream(second, d, p + hn::Lanes(d));
}

#if HWY_TARGET != HWY_SCALAR

// HalfBits of two vectors side by side.
template <class D>
HWY_INLINE hn::Vec<hn::Repartition<uint16_t, D>> HalfBitsOfTwo(D d, hn::Vec<D> first,
                                                               hn::Vec<D> second,
                                                               const CastBf16* /*type*/) {
  const hn::Repartition<uint16_t, D> d16;  // the upper halves of both are its odd lanes
  const auto low = hn::BitCast(d16, RoundUpperHalf(d, first));
  const auto high = hn::BitCast(d16, RoundUpperHalf(d, second));
  return hn::ConcatOdd(d16, high, low);
}

template <class D>
HWY_INLINE hn::Vec<hn::Repartition<uint16_t, D>> HalfBitsOfTwo(D d, hn::Vec<D> first,
                                                               hn::Vec<D> second,
                                                               const hwy::bfloat16_t* /*type*/) {
#if GLASSFORMER_CONVERTS_BF16
  if constexpr (hn::MaxLanes(D()) * sizeof(float) == 64) {
    if (HWY_LIKELY(kHasBf16Conversion)) {
      __m512i bits;
      asm("vcvtne2ps2bf16 %2, %1, %0" : "=v"(bits) : "v"(second.raw), "v"(first.raw));
      return hn::Vec<hn::Repartition<uint16_t, D>>{bits};
    }
  }
#endif
  return HalfBitsOfTwo(d, first, second, static_cast<const CastBf16*>(nullptr));
}

template <class D>
HWY_INLINE hn::Vec<hn::Repartition<uint16_t, D>> HalfBitsOfTwo(D d, hn::Vec<D> first,
                                                               hn::Vec<D> second,
                                                               const hwy::float16_t* type) {
  const hn::Repartition<uint16_t, D> d16;
  return hn::Combine(d16, HalfBits(d, second, type), HalfBits(d, first, type));
}

template <class D, class T>
HWY_INLINE void StoreTwoF32(hn::Vec<D> first, hn::Vec<D> second, D d, T* HWY_RESTRICT p) {
  const hn::Repartition<uint16_t, D> d16;
  hn::StoreU(HalfBitsOfTwo(d, first, second, p), d16, reinterpret_cast<uint16_t*>(p));
}

template <class D, class T>
HWY_INLINE void StreamF32(hn::Vec<D> first, hn::Vec<D> second, D d, T* HWY_RESTRICT p) {
  const hn::Repartition<uint16_t, D> d16;
  hn::Stream(HalfBitsOfTwo(d, first, second, p), d16, reinterpret_cast<uint16_t*>(p));
}

#else

template <class D, class T>
HWY_INLINE void StoreTwoF32(hn::Vec<D> first, hn::Vec<D> second, D d, T* HWY_RESTRICT p) {
  StoreF32(first, d, p);
  StoreF32(second, d, p + 1);
}

template <class D, class T>
HWY_INLINE void StreamF32(hn::Vec<D> first, hn::Vec<D> second, D d, T* HWY_RESTRICT p) {
  StoreTwoF32(first, second, d, p);
}

#endif

// The first `count` < Lanes(d) elements, the other lanes zero; nothing beyond them is touched.
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadF32N(D d, const T* HWY_RESTRICT p, size_t count) {
  HWY_ALIGN T block[hn::MaxLanes(D())] = {};
  memcpy(block, p, count * sizeof(T));
  return LoadF32(d, block);
}

template <class D, class T>
HWY_INLINE void StoreF32N(hn::Vec<D> v, D d, T* HWY_RESTRICT p, size_t count) {
  HWY_ALIGN T block[hn::MaxLanes(D())];
  StoreF32(v, d, block);
  memcpy(p, block, count * sizeof(T));
}

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86  // masked memory operations that cannot fault

template <class D>
HWY_INLINE hn::Vec<D> LoadF32N(D d, const float* HWY_RESTRICT p, size_t count) {
  return hn::MaskedLoad(hn::FirstN(d, count), d, p);
}

template <class D>
HWY_INLINE void StoreF32N(hn::Vec<D> v, D d, float* HWY_RESTRICT p, size_t count) {
  hn::BlendedStore(v, hn::FirstN(d, count), d, p);
}

#endif

// ------------------------------------------------------------------------------------ functions

// c[0] + c[1]·x + … + c[n-1]·x^(n-1), by Horner's rule.
template <class D, size_t kTerms>
HWY_INLINE hn::Vec<D> Polynomial(D d, hn::Vec<D> x, const float (&c)[kTerms]) {
  auto sum = hn::Set(d, c[kTerms - 1]);
  for (size_t i = kTerms - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
  return sum;
}

// e^x to 1.0 ulp. Results below the smallest normal number are 0, e^-inf = 0, e^inf = inf.
// x = n·ln 2 + r with |r| <= ln 2 / 2, and e^x = 2^n · e^r.
template <class D>
HWY_INLINE hn::Vec<D> Exp(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  // 1.5·2^23 pushes the fraction out of the mantissa: the low bits are then n itself.
  const auto magic = hn::Set(d, 12582912.0f);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const auto n = hn::Sub(shifted, magic);
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);  // exact: nine bits of ln 2
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  constexpr float kTerms[] = {5.0000001201e-1f, 1.6666665459e-1f, 4.1665795894e-2f,
                              8.3334519073e-3f, 1.3981999507e-3f, 1.9875691500e-4f};
  const auto one = hn::Set(d, 1.0f);
  const auto p = hn::Add(hn::MulAdd(Polynomial(d, r, kTerms), hn::Mul(r, r), r), one);
  // Adding n to the exponent bits of p is exact for every result between the two limits.
  const auto scale = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  auto y = hn::BitCast(d, hn::Add(hn::BitCast(di, p), scale));
  y = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.7228394f)), hn::Inf(d), y);
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, -87.3365402f)), hn::Zero(d), y);
}

// ln x. ln 0 = -inf, below 0 NaN.
// x = 2^n * m with sqrt(1/2) <= m < sqrt(2), and ln x = n ln 2 + ln(1 + (m - 1)).
template <class D>
HWY_INLINE hn::Vec<D> Log(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  constexpr float kTerms[] = {3.3333331174e-1f,  -2.4999993993e-1f, 2.0000714765e-1f,
                              -1.6668057665e-1f, 1.4249322787e-1f,  -1.2420140846e-1f,
                              1.1676998740e-1f,  -1.1514610310e-1f, 7.0376836292e-2f};
  const auto tiny = hn::Lt(x, hn::Set(d, 1.17549435e-38f));  // subnormal: 2^25 x is not
  const auto bits = hn::BitCast(di, hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 33554432.0f)), x));
  const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3F3504F3)));
  const auto f =
      hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent))), hn::Set(d, 1.0f));
  const auto n = hn::Sub(hn::ConvertTo(d, exponent), hn::IfThenElseZero(tiny, hn::Set(d, 25.0f)));
  const auto square = hn::Mul(f, f);
  // ln 2 in two parts, the first exact when multiplied by n.
  auto y = hn::Mul(hn::Mul(f, square), Polynomial(d, f, kTerms));
  y = hn::MulAdd(n, hn::Set(d, -2.12194440e-4f), y);
  y = hn::Add(f, hn::NegMulAdd(square, hn::Set(d, 0.5f), y));
  y = hn::MulAdd(n, hn::Set(d, 0.693359375f), y);
  const auto zero = hn::Zero(d);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(hn::Inf(d)), y);
  y = hn::IfThenElse(hn::Eq(x, hn::Inf(d)), x, y);
  return hn::IfThenElse(hn::Ge(x, zero), y, hn::NaN(d));
}

// cos(2 pi u) for 0 <= u < 1. u = q/4 + r with |r| <= 1/8, which is exact, so the error is that of
// the polynomials.
template <class D>
HWY_INLINE hn::Vec<D> CosTurns(D d, hn::Vec<D> u) {
  const hn::RebindToSigned<D> di;
  constexpr float kSine[] = {-1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f};
  constexpr float kCosine[] = {4.166664568e-2f, -1.388731625e-3f, 2.443315711e-5f};
  const auto quarters = hn::Round(hn::Mul(u, hn::Set(d, 4.0f)));
  const auto t = hn::Mul(hn::NegMulAdd(quarters, hn::Set(d, 0.25f), u), hn::Set(d, 6.28318531f));
  const auto square = hn::Mul(t, t);
  const auto sine = hn::MulAdd(hn::Mul(Polynomial(d, square, kSine), square), t, t);
  const auto half = hn::NegMulAdd(square, hn::Set(d, 0.5f), hn::Set(d, 1.0f));
  const auto cosine = hn::MulAdd(hn::Mul(Polynomial(d, square, kCosine), square), square, half);
  const auto q = hn::ConvertTo(di, quarters);
  const auto odd = hn::Ne(hn::And(q, hn::Set(di, 1)), hn::Zero(di));
  const auto y = hn::IfThenElse(hn::RebindMask(d, odd), sine, cosine);
  // q = 0, 1, 2, 3 give cos t, -sin t, -cos t, sin t: bit 1 of q + 1 is the sign.
  const auto sign = hn::ShiftLeft<30>(hn::And(hn::Add(q, hn::Set(di, 1)), hn::Set(di, 2)));
  return hn::Xor(y, hn::BitCast(d, sign));
}

namespace math {

// erf(z) for |z| <= kErfSplit, an odd polynomial.
constexpr float kErfSplit = 0.927734375f;
template <class D>
HWY_INLINE hn::Vec<D> ErfNear(D d, hn::Vec<D> z) {
  constexpr float kTerms[] = {1.28379166e-1f,  -3.76125336e-1f, 1.12819925e-1f,
                              -2.67681349e-2f, 4.99119423e-3f,  -5.96761703e-4f};
  return hn::MulAdd(Polynomial(d, hn::Mul(z, z), kTerms), z, z);
}

// erfc(t) = e^(-t - t·P(t)) for t >= kErfSplit, so that erf = 1 - erfc loses nothing.
template <class D>
HWY_INLINE hn::Vec<D> ErfcFar(D d, hn::Vec<D> t) {
  constexpr float kTerms[] = {-1.28717512e-1f, -6.34846687e-1f, -1.06777877e-1f, 2.42546219e-2f,
                              -3.88396438e-3f, 3.83197126e-4f,  -1.72853470e-5f};
  return Exp(d, hn::MulSub(Polynomial(d, t, kTerms), t, t));
}

}  // namespace math

// erf(x), to 1.0 ulp. Coefficients by N. Juffa.
template <class D>
HWY_INLINE hn::Vec<D> Erf(D d, hn::Vec<D> x) {
  const auto t = hn::Abs(x);
  const auto far = hn::CopySignToAbs(hn::Sub(hn::Set(d, 1.0f), math::ErfcFar(d, t)), x);
  return hn::IfThenElse(hn::Gt(t, hn::Set(d, math::kErfSplit)), far, math::ErfNear(d, x));
}

// tanh(x) to 1.8 ulps: an odd polynomial near zero, 1 - 2 / (1 + e^2|x|) elsewhere.
template <class D>
HWY_INLINE hn::Vec<D> Tanh(D d, hn::Vec<D> x) {
  constexpr float kTerms[] = {-3.33327681e-1f, 1.33152470e-1f, -5.23025477e-2f, 1.57394409e-2f};
  const auto t = hn::Abs(x);
  const auto square = hn::Mul(x, x);
  const auto near = hn::MulAdd(hn::Mul(Polynomial(d, square, kTerms), square), x, x);
  const auto one = hn::Set(d, 1.0f);
  const auto two = hn::Set(d, 2.0f);
  const auto far = hn::Sub(one, hn::Div(two, hn::Add(one, Exp(d, hn::Add(t, t)))));
  return hn::IfThenElse(hn::Gt(t, hn::Set(d, 0.55f)), hn::CopySignToAbs(far, x), near);
}

// σ(x) = 1 / (1 + e^-x), to 2.2 ulps.
template <class D>
HWY_INLINE hn::Vec<D> Sigmoid(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, Exp(d, hn::Neg(x))));
}

namespace math {

// σ(x) and 1 - σ(x), each to full relative precision: their product does not cancel.
// |x| <= 80, so that neither e^-x nor σ overflows.
template <class D>
struct SigmoidPair {
  hn::Vec<D> value, complement;
};
template <class D>
HWY_INLINE SigmoidPair<D> SigmoidBoth(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0f);
  const auto e = Exp(d, hn::Neg(x));
  const auto value = hn::Div(one, hn::Add(one, e));
  return {value, hn::Mul(e, value)};
}

// Beyond ±limit, ±limit; NaN stays. Where a derivative is flat it spares 0 · inf.
template <class D>
HWY_INLINE hn::Vec<D> ClampMagnitude(D d, hn::Vec<D> x, float limit) {
  const auto bound = hn::Set(d, limit);
  return hn::IfThenElse(hn::Gt(hn::Abs(x), bound), hn::CopySign(bound, x), x);
}

}  // namespace math

// ------------------------------------------------------------------------------------ activations
// Each with its derivative with respect to x, given x.

template <class D>
HWY_INLINE hn::Vec<D> Relu(D d, hn::Vec<D> x) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);  // not Max: NaN stays
}
template <class D>
HWY_INLINE hn::Vec<D> ReluGradient(D d, hn::Vec<D> x) {
  return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1.0f));
}

namespace math {

// The same polynomial with fewer steps that wait for one another (Estrin's scheme): in a function
// that is one long chain, the processor runs out of room to overlap it with the next vector's.
template <class D, size_t kTerms>
HWY_INLINE hn::Vec<D> ShortPolynomial(D d, hn::Vec<D> x, const float (&c)[kTerms]) {
  hn::Vec<D> terms[(kTerms + 1) / 2];
  for (size_t i = 0; i < kTerms / 2; ++i)
    terms[i] = hn::MulAdd(hn::Set(d, c[2 * i + 1]), x, hn::Set(d, c[2 * i]));
  if (kTerms % 2 != 0) terms[kTerms / 2] = hn::Set(d, c[kTerms - 1]);
  for (size_t count = (kTerms + 1) / 2; count > 1; count = (count + 1) / 2) {
    x = hn::Mul(x, x);
    for (size_t i = 0; i < count / 2; ++i) terms[i] = hn::MulAdd(terms[2 * i + 1], x, terms[2 * i]);
    if (count % 2 != 0) terms[count / 2] = terms[count - 1];
  }
  return terms[0];
}

// The functions below are exact enough for a result that is stored as T. bfloat16 keeps eight bits,
// for which shorter polynomials do: they add less than a fifth to the error of the rounding.
template <class T>
constexpr bool kShort = std::is_same_v<T, hwy::bfloat16_t>;

template <class T, class D, size_t kTerms, size_t kShortTerms>
HWY_INLINE hn::Vec<D> PolynomialFor(D d, hn::Vec<D> x, const float (&c)[kTerms],
                                    const float (&short_c)[kShortTerms]) {
  if constexpr (kShort<T>) {
    return Polynomial(d, x, short_c);
  } else {
    return ShortPolynomial(d, x, c);
  }
}

// 2^(a·b - kLess), the exponent being from -126 to 0.
template <class T, int kLess = 0, class D>
HWY_INLINE hn::Vec<D> PowerOfTwo(D d, hn::Vec<D> a, hn::Vec<D> b) {
  const hn::RebindToSigned<D> di;
  constexpr float kTerms[] = {1.0f,           0.693147203f,   0.240226479f,  0.0555033247f,
                              0.00961843736f, 0.00133988747f, 1.53533612e-4f};
  constexpr float kShortTerms[] = {0.999928058f, 0.693260993f, 0.242611379f, 0.0551717701f};
  const auto magic = hn::Set(d, 12582912.0f - kLess);  // as in Exp
  const auto shifted = hn::MulAdd(a, b, magic);
  const auto r = hn::MulSub(a, b, hn::Sub(shifted, magic));
  const auto power = PolynomialFor<T>(d, r, kTerms, kShortTerms);
  const auto scale = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, power), scale));
}

// The odd part of f at t >= 0 from its pieces, beyond them what it is at their end. NaN stays:
// where one of its arguments is NaN, Min gives the second. GELU is then good to 9e-8 · max(1, |x|),
// its slopes to 1.4e-7, and with the fewer terms that bfloat16 takes to 2.8e-7 and 1.4e-6.
template <class T>
constexpr size_t kPieceTerms = kShort<T> ? 4 : 5;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
template <class D>
constexpr bool kHasPieces = hn::MaxLanes(D()) * sizeof(float) == 64;
template <class D, size_t kTerms>
HWY_INLINE hn::Vec<D> OddPart(D d, hn::Vec<D> t, const Pieces<kTerms>& f) {
  const auto within = hn::Min(hn::Set(d, PieceSizes::kLast), t);
  const auto magic = hn::Set(d, 12582912.0f);  // as in Exp; the lookups take n mod 32
  const auto shifted = hn::MulAdd(within, hn::Set(d, 1.0f / PieceSizes::kStep), magic);
  auto r = within;
  if constexpr (!Pieces<kTerms>::kAroundZero)
    r = hn::NegMulAdd(hn::Sub(shifted, magic), hn::Set(d, PieceSizes::kStep), within);
  const auto term = [&](size_t k) HWY_ATTR {
    return hn::Vec<D>{_mm512_permutex2var_ps(_mm512_load_ps(f.terms[k]),
                                             _mm512_castps_si512(shifted.raw),
                                             _mm512_load_ps(f.terms[k] + 16))};
  };
  auto sum = term(kTerms - 1);
  HWY_UNROLL(8)
  for (size_t k = kTerms - 1; k-- > 0;) sum = hn::MulAdd(sum, r, term(k));
  return sum;
}
#else
template <class D>
constexpr bool kHasPieces = false;
template <class D, size_t kTerms>
HWY_INLINE hn::Vec<D> OddPart(D /*d*/, hn::Vec<D> t, const Pieces<kTerms>& /*f*/) {
  return t;
}
#endif

// x · f(x) and f(x) for f(x) = 1/2 + sign(x) · odd(|x|).
template <class D, size_t kTerms>
HWY_INLINE hn::Vec<D> TimesPieces(D d, hn::Vec<D> x, const Pieces<kTerms>& f) {
  const auto t = hn::Abs(x);
  return hn::MulAdd(t, OddPart(d, t, f), hn::Mul(x, hn::Set(d, 0.5f)));
}
template <class D, size_t kTerms>
HWY_INLINE hn::Vec<D> OfPieces(D d, hn::Vec<D> x, const Pieces<kTerms>& f) {
  const auto odd = OddPart(d, hn::Abs(x), f);
  return hn::Add(hn::Xor(odd, hn::And(x, hn::SignBit(d))), hn::Set(d, 0.5f));
}

// GELU is x · F(x) with F(-x) = 1 - F(x): the tail F(-|x|) gives both halves without cancellation.
// So do the slopes, which add up to 1 too. This is f(x), given f(-|x|).
template <class D>
HWY_INLINE hn::Vec<D> OfBoth(D d, hn::Vec<D> x, hn::Vec<D> below) {
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 1.0f), below), below);
}

// x · F(x), given tail(t) = F(-t) for 0 <= t <= limit, beyond which it is zero: -inf · 0 is NaN, as
// in the equation. Zeros are put in as integers, which is how a power of two was put together.
template <class D, class F>
HWY_INLINE hn::Vec<D> TimesBoth(D d, hn::Vec<D> x, float limit, F&& tail) {
  const hn::RebindToSigned<D> di;
  const auto within = hn::Le(hn::Abs(x), hn::Set(d, limit));
  const auto below = tail(hn::IfThenElse(within, hn::Abs(x), hn::Set(d, limit)));
  const auto bits = hn::IfThenElseZero(hn::RebindMask(di, within), hn::BitCast(di, below));
  return hn::Mul(x, OfBoth(d, x, hn::BitCast(d, bits)));
}

// Φ(-t) for 0 <= t <= kNormalLimit, Φ being the normal distribution function, to 6e-8 absolute and
// to 7e-6 relative up to t = 6. log2 of 2Φ(-t) is smooth: one polynomial and a power of two give it
// with less work than erf, and without the cancellation of 1 + erf.
template <class T>
constexpr float kNormalLimit = kShort<T> ? 8.5f : 11.25f;  // where it is 1e-17 and 1e-29
template <class T, class D>
HWY_INLINE hn::Vec<D> NormalTail(D d, hn::Vec<D> t) {
  constexpr float kTerms[] = {-1.1511052f,     -0.459210121f,   -0.0524790142f, 0.00700953342f,
                              -5.64037977e-5f, -2.50183771e-4f, 6.7296148e-5f,  -9.30404351e-6f,
                              6.96311806e-7f,  -2.2243376e-8f};
  constexpr float kShortTerms[] = {-1.14739001f,   -0.46777609f,    -0.0464465059f,
                                   0.00570925744f, -4.00770252e-4f, 1.19419819e-5f};
  return PowerOfTwo<T, 1>(d, t, PolynomialFor<T>(d, t, kTerms, kShortTerms));
}

// Φ(-t) - t · φ(t) with φ(t) = e^(-t²/2) / √(2π): GELU's slope for negative x.
template <class T, class D>
HWY_INLINE hn::Vec<D> NormalSlope(D d, hn::Vec<D> t) {
  const auto density = PowerOfTwo<T>(d, hn::Mul(t, hn::Set(d, -0.72134752f)), t);  // times √(2π)
  if constexpr (kShort<T>) {  // over the density it is smooth up to kSlopeLimit
    constexpr float kTerms[] = {0.499928459f,   -0.796072862f,   0.240801486f,
                                -0.112993148f,  0.038874702f,    -0.00912589057f,
                                0.00135126224f, -1.12311566e-4f, 3.96640656e-6f};
    return hn::Mul(density, Polynomial(d, t, kTerms));
  } else {
    return hn::NegMulAdd(hn::Mul(t, hn::Set(d, 0.398942280f)), density, NormalTail<T>(d, t));
  }
}
template <class T>
constexpr float kSlopeLimit = kShort<T> ? 6.5f : kNormalLimit<T>;  // where it is -2e-9 and -1e-27

// The tail of GELU's tanh form, (1 - tanh u) / 2 with u = √(2/π)·(t + 0.044715·t³), and 1 - tail:
// e / (1 + e) and 1 / (1 + e) with e = e^(-2u).
constexpr float kTanhLimit = 9.5f;  // 2u = 76
template <class D>
struct TanhTail {
  hn::Vec<D> tail, rest;
};
template <class T, class D>
HWY_INLINE TanhTail<D> TanhTailOf(D d, hn::Vec<D> t) {
  constexpr float kLinear = -2.30220819f, kCubic = -0.102943240f;  // of -2u, times log2 e
  const auto factor = hn::MulAdd(hn::Mul(t, t), hn::Set(d, kCubic), hn::Set(d, kLinear));
  const auto e = PowerOfTwo<T>(d, t, factor);
  const auto one = hn::Set(d, 1.0f);
  const auto rest = hn::Div(one, hn::Add(one, e));
  return {hn::Mul(e, rest), rest};
}

}  // namespace math

// x · Φ(x).
template <class T = float, class D>
HWY_INLINE hn::Vec<D> GeluExact(D d, hn::Vec<D> x) {
  if constexpr (math::kHasPieces<D>)
    return math::TimesPieces(d, x, kNormalPieces<math::kPieceTerms<T>>);
  const auto tail = [d](auto t) HWY_ATTR { return math::NormalTail<T>(d, t); };
  return math::TimesBoth(d, x, math::kNormalLimit<T>, tail);
}
// Φ(x) + x · φ(x).
template <class T = float, class D>
HWY_INLINE hn::Vec<D> GeluExactGradient(D d, hn::Vec<D> x) {
  if constexpr (math::kHasPieces<D>)
    return math::OfPieces(d, x, kGeluSlopePieces<math::kPieceTerms<T>>);
  const auto limit = hn::Set(d, math::kSlopeLimit<T>);
  const auto beyond = hn::Gt(hn::Abs(x), limit);  // not Min: NaN stays
  const auto slope = math::NormalSlope<T>(d, hn::IfThenElse(beyond, limit, hn::Abs(x)));
  return math::OfBoth(d, x, hn::IfThenZeroElse(beyond, slope));
}

// x · (1 + tanh u) / 2 with u = √(2/π)·(x + 0.044715·x³).
template <class T = float, class D>
HWY_INLINE hn::Vec<D> GeluTanh(D d, hn::Vec<D> x) {
  if constexpr (math::kHasPieces<D>)
    return math::TimesPieces(d, x, kTanhNormalPieces<math::kPieceTerms<T>>);
  const auto tail = [d](auto t) HWY_ATTR { return math::TanhTailOf<T>(d, t).tail; };
  return math::TimesBoth(d, x, math::kTanhLimit, tail);
}
// With s = (1 + tanh u) / 2: s + x · s·(1 - s) · 2u'.
template <class T = float, class D>
HWY_INLINE hn::Vec<D> GeluTanhGradient(D d, hn::Vec<D> x) {
  if constexpr (math::kHasPieces<D>)
    return math::OfPieces(d, x, kGeluTanhSlopePieces<math::kPieceTerms<T>>);
  constexpr float kLinear = 1.59576912f, kCubic = 0.214064449f;  // of 2u'
  const auto t = hn::Abs(math::ClampMagnitude(d, x, math::kTanhLimit));
  const auto s = math::TanhTailOf<T>(d, t);
  const auto slope = hn::MulAdd(hn::Mul(t, t), hn::Set(d, kCubic), hn::Set(d, kLinear));
  const auto factor = hn::NegMulAdd(hn::Mul(t, slope), s.rest, hn::Set(d, 1.0f));
  return math::OfBoth(d, x, hn::Mul(s.tail, factor));
}

// x · σ(x).
template <class D>
HWY_INLINE hn::Vec<D> Silu(D d, hn::Vec<D> x) {
  return hn::Mul(x, Sigmoid(d, x));
}
// s · (1 + x · (1 - s)), with s = σ(x).
template <class D>
HWY_INLINE hn::Vec<D> SiluGradient(D d, hn::Vec<D> x) {
  x = math::ClampMagnitude(d, x, 80.0f);
  const auto s = math::SigmoidBoth(d, x);
  return hn::MulAdd(hn::Mul(s.value, x), s.complement, s.value);
}

// s · (1 - s).
template <class D>
HWY_INLINE hn::Vec<D> SigmoidGradient(D d, hn::Vec<D> x) {
  const auto s = math::SigmoidBoth(d, math::ClampMagnitude(d, x, 80.0f));
  return hn::Mul(s.value, s.complement);
}

// 1 - t².
template <class D>
HWY_INLINE hn::Vec<D> TanhGradient(D d, hn::Vec<D> x) {
  const auto t = Tanh(d, x);
  return hn::NegMulAdd(t, t, hn::Set(d, 1.0f));
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
