// The maximum of a row and the sum of its exponentials, in one pass over memory.
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

#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// sum_j exp(x_j) = sum * exp(highest).
struct ExpSum {
  float highest, sum;
};

// A block is read twice, its maximum first, and so has to stay in the nearest cache; the next one
// is fetched while the exponentials of this one are computed.
constexpr int64_t kExpBlock = 2048;
inline int64_t ExpBlocks(int64_t width) { return (width + kExpBlock - 1) / kExpBlock; }

// e^x for x <= 0, as 2^n · 2^r with |r| <= 1/2: fewer steps than Exp, which has both ends to mind.
// Within 1.2 ulp; 0 where Exp gives 0, and e^0 = 1. Where the numbers come from or go to bfloat16
// within 1e-5.
template <class T = float, class D>
HWY_INLINE hn::Vec<D> ExpOfNegative(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const auto magic = hn::Set(d, 12582912.0F);  // 1.5·2^23: the low bits of the sum are n
  const auto log2_e = hn::Set(d, 1.44269502F);
  const auto shifted = hn::MulAdd(x, log2_e, magic);
  auto r = hn::MulSub(x, log2_e, hn::Sub(shifted, magic));
  hn::Vec<D> p;
  if constexpr (math::kShort<T>) {
    constexpr float kTerms[] = {1.0F, 0.693124175F, 0.240240991F, 0.0559064671F, 0.00958286971F};
    p = Polynomial(d, r, kTerms);
  } else {
    r = hn::MulAdd(x, hn::Set(d, 1.92596303e-8F), r);  // the rest of log2 e
    constexpr float kTerms[] = {1.0F,           0.693147182F,   0.240226462F,   0.0555032864F,
                                0.00961848907F, 0.00133999309F, 0.000153458124F};
    p = Polynomial(d, r, kTerms);
  }
  const auto scale = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const auto y = hn::BitCast(d, hn::Add(hn::BitCast(di, p), scale));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3365402F)), y);
}

// The largest of x[0 .. count), count <= kExpBlock. `values` is then x as float32: x itself, or a
// copy in `buffer`, which spares converting it again.
HWY_INLINE float BlockMax(const float* x, int64_t count, float* /*buffer*/, const float** values) {
  *values = x;
  return RowMax(x, count);
}
template <class T>
HWY_INLINE float BlockMax(const T* x, int64_t count, float* HWY_RESTRICT buffer,
                          const float** values) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto most0 = hn::Set(d, std::numeric_limits<float>::lowest()), most1 = most0;
  const auto keep = [&](int64_t i, size_t valid) HWY_ATTR {
    const auto v = LoadSome(hn::ScalableTag<float>(), x + i, valid);
    hn::StoreU(v, d, buffer + i);
    return v;
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    most0 = hn::Max(most0, keep(i, hn::Lanes(d)));
    most1 = hn::Max(most1, keep(i + lanes, hn::Lanes(d)));
  }
  for (; i < count; i += lanes) {
    const auto valid = static_cast<size_t>(std::min(lanes, count - i));
    const auto v = keep(i, valid);
    most0 = hn::IfThenElse(hn::FirstN(d, valid), hn::Max(most0, v), most0);
  }
  *values = buffer;
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(most0, most1)));
}

// Infinities and NaN come out as the equation has them: a row of -inf alone has sum 0, one with a
// NaN or with +inf has sum NaN. visit(x, exp(x - highest so far), index, count) is shown every
// vector.
template <class T, class F>
HWY_INLINE ExpSum RowExpSum(const T* x, int64_t width, F&& visit, float* block_highest = nullptr) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float buffer[kExpBlock + hn::MaxLanes(hn::ScalableTag<float>())];
  ExpSum total{std::numeric_limits<float>::lowest(), 0.0F};  // finite: -inf minus it is -inf
  for (int64_t block = 0; block < ExpBlocks(width); ++block) {
    const int64_t begin = block * kExpBlock, size = std::min(kExpBlock, width - begin);
    const float before = total.highest;
    const float* v = nullptr;
    total.highest = std::max(before, BlockMax(x + begin, size, buffer, &v));
    if (block_highest != nullptr) block_highest[block] = total.highest;
    const auto highest = hn::Set(d, total.highest);
    auto sum = hn::Zero(d);
    int64_t i = 0;
    for (; i + lanes <= size; i += lanes) {
      hwy::Prefetch(x + begin + i + kExpBlock);
      const auto value = hn::LoadU(d, v + i);
      const auto e = ExpOfNegative<T>(d, hn::Sub(value, highest));
      sum = hn::Add(sum, e);
      visit(value, e, begin + i, hn::Lanes(d));
    }
    if (i < size) {
      const auto count = static_cast<size_t>(size - i);
      const auto value = LoadF32N(d, v + i, count);
      const auto e = FirstOf(d, ExpOfNegative<T>(d, hn::Sub(value, highest)), count);
      sum = hn::Add(sum, e);
      visit(value, e, begin + i, count);
    }
    if (block > 0) total.sum *= std::exp(before - total.highest);
    total.sum += SumLanes(d, sum);
  }
  return total;
}

template <class T>
HWY_INLINE ExpSum RowExpSum(const T* x, int64_t width) {
  return RowExpSum(x, width, [](auto, auto, int64_t, size_t) HWY_ATTR {});
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
