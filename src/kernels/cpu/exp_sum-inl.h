// The sum of the exponentials of a row, in one pass over memory.
//
// Included once per Highway target, so the guard flips with it.

#if defined(GLASSFORMER_KERNELS_CPU_EXP_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_EXP_SUM_INL_H_
#undef GLASSFORMER_KERNELS_CPU_EXP_SUM_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_EXP_SUM_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "kernels/cpu/bf16_exp-inl.h"
#include "kernels/cpu/exp-inl.h"
#include "kernels/cpu/flat-inl.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// factor · exp(x - shift) for numbers that are a T's and at most about shift.
template <class T>
class ScaledExp {
  using D = hn::ScalableTag<float>;

 public:
  ScaledExp(float shift, float factor) : shift_(shift), factor_(factor) {}
  HWY_INLINE hn::Vec<D> operator()(hn::Vec<D> x) const {
    const D d;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    if constexpr (kHasShiftedExp<T>)
      if (HWY_LIKELY(serves_)) return hn::Vec<D>{fast_(x.raw)};
#endif
    return hn::Mul(hn::Set(d, factor_), ExpOfSmall<T>(d, hn::Sub(x, hn::Set(d, shift_))));
  }

 private:
  float shift_, factor_;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  ShiftedExp fast_{shift_, factor_};
  bool serves_ = ShiftedExp::serves(shift_);
#endif
};

// sum_j exp(x_j) = sum * exp(shift).
struct ExpSum {
  float shift, sum;
  // In double: shift may be far from the logarithm of the whole, and then most of it cancels.
  double log() const { return static_cast<double>(shift) + std::log(static_cast<double>(sum)); }
};

// The sum of exp(x - shift) over a row; where one of them is too large it is not below kMuch.
constexpr float kMuch = 1e30F;
template <class T, class F>
HWY_INLINE float SumExps(const T* x, int64_t width, float shift, F&& visit) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kBlock = 2048;  // summed by itself: small numbers among themselves
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  // A step less: the product is not rounded before the subtraction, but what is subtracted was, by
  // 2^-25 of it, which is nothing to the exponential of 1e6 and too much to that of 1e9.
  const bool fused = math::kShort<T> && std::abs(shift) < 1e6F;
  const auto base = hn::Set(d, fused ? shift * kLog2E : shift);
  const auto large = hn::Set(d, math::kShort<T> ? 126.0F : 87.0F);
  const auto exp_of = [&](V v) HWY_ATTR {
    const V scale = hn::Set(d, kLog2E);
    V power = fused ? hn::MulSub(v, scale, base) : hn::Sub(v, base);
    if (math::kShort<T> && !fused) power = hn::Mul(power, scale);
    if constexpr (!kExpSaturates)
      power = hn::IfThenElse(hn::Gt(power, large), large, power);  // not Min: NaN stays
    if constexpr (math::kShort<T>)
      return Exp2<T>(d, power);
    else
      return ExpOfSmall<T>(d, power);
  };
  V total = hn::Zero(d);
  for (int64_t begin = 0; begin < width; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, width);
    V sum[2] = {hn::Zero(d), hn::Zero(d)};
    int64_t i = begin;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      FetchAhead(x + i);
      for (int64_t u = 0; u < 2; ++u) {
        const V v = LoadF32(d, x + i + u * lanes), e = exp_of(v);
        sum[u] = hn::Add(sum[u], e);
        visit(v, e, i + u * lanes, hn::Lanes(d));
      }
    }
    for (; i < end; i += lanes) {
      const auto count = static_cast<size_t>(std::min(lanes, end - i));
      const V v = LoadSome(d, x + i, count), e = FirstOf(d, exp_of(v), count);
      sum[0] = hn::Add(sum[0], e);
      visit(v, e, i, count);
    }
    total = hn::Add(total, hn::Add(sum[0], sum[1]));
  }
  return SumLanes(d, total);
}

template <class T>
HWY_INLINE float SumExps(const T* x, int64_t width, float shift) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if constexpr (kHasShiftedExp<T>)
    if (ShiftedExp::serves_sums(shift)) return SumShiftedExps(x, width, shift);
#endif
  return SumExps(x, width, shift, [](auto, auto, int64_t, size_t) HWY_ATTR {});
}

// In one pass over memory: the maximum of a row is not known before its end, but that of its first
// numbers will do for `shift` unless others are so far above it that their exponentials are too
// large. Then again() is called, and a second pass takes the maximum of all.
// Infinities and NaN come out as the equation has them: a row of -inf alone has sum 0, one with a
// NaN or with +inf has sum NaN. visit...: none, or visit(x, exp(x - shift), index, count) is shown
// every vector.
template <class T, class G, class... F>
HWY_INLINE ExpSum RowExpSum(const T* x, int64_t width, G&& again, F&&... visit) {
  constexpr int64_t kFirst = 64;
  float shift = RowMax(x, std::min(width, kFirst));
  if (std::isfinite(shift)) {
    const float sum = SumExps(x, width, shift, visit...);
    if (sum >= 0 && sum < kMuch) return {shift, sum};
    again();
  }
  shift = std::max(RowMax(x, width), std::numeric_limits<float>::lowest());  // -inf - -inf is NaN
  return {shift, SumExps(x, width, shift, visit...)};
}

template <class T>
HWY_INLINE ExpSum RowExpSum(const T* x, int64_t width) {
  return RowExpSum(x, width, [] {});
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
