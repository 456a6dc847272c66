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
#include "kernels/cpu/stream-inl.h"

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
constexpr int64_t kExpBlock = 4096;
inline int64_t ExpBlocks(int64_t width) { return (width + kExpBlock - 1) / kExpBlock; }

// Infinities and NaN come out as the equation has them: a row of -inf alone has sum 0, one with a
// NaN or with +inf has sum NaN. visit(x, exp(x - highest so far), index, count) is shown every
// vector.
template <class T, class F>
HWY_INLINE ExpSum RowExpSum(const T* x, int64_t width, F&& visit, float* block_highest = nullptr) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  ExpSum total{std::numeric_limits<float>::lowest(), 0.0F};  // finite: -inf minus it is -inf
  for (int64_t block = 0; block < ExpBlocks(width); ++block) {
    int64_t i = block * kExpBlock;
    const int64_t end = std::min(i + kExpBlock, width);
    const float before = total.highest;
    total.highest = std::max(before, RowMax(x + i, end - i));
    if (block_highest != nullptr) block_highest[block] = total.highest;
    const auto highest = hn::Set(d, total.highest);
    auto sum = hn::Zero(d);
    for (; i + lanes <= end; i += lanes) {
      hwy::Prefetch(x + i + kExpBlock);
      const auto v = LoadF32(d, x + i);
      const auto e = Exp(d, hn::Sub(v, highest));
      sum = hn::Add(sum, e);
      visit(v, e, i, hn::Lanes(d));
    }
    if (i < end) {
      const auto count = static_cast<size_t>(end - i);
      const auto v = LoadF32N(d, x + i, count);
      const auto e = FirstOf(d, Exp(d, hn::Sub(v, highest)), count);
      sum = hn::Add(sum, e);
      visit(v, e, i, count);
    }
    total.sum = total.sum * std::exp(before - total.highest) + SumLanes(d, sum);
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
