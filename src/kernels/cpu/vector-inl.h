// Walking a row vector by vector with several operands, the last vector being partial.
//
// Included once per Highway target, so the guard flips with it.

#if defined(GLASSFORMER_KERNELS_CPU_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_VECTOR_INL_H_
#undef GLASSFORMER_KERNELS_CPU_VECTOR_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_VECTOR_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// f(first, count) for every vector of a row; count < Lanes only in the last.
template <class F>
HWY_INLINE void ForVectors(int64_t width, F&& f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) f(i, hn::Lanes(d));
  if (i < width) f(i, static_cast<size_t>(width - i));
}

// f(first, count, turn) likewise, turn going 0, 1, 2, 3: for sums, whose additions would wait for
// one another in a single accumulator. Add the four up with SumTurns.
template <class F>
HWY_INLINE void ForVectorsInTurn(int64_t width, F&& f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= width; i += 4 * lanes) {
    f(i, hn::Lanes(d), 0);
    f(i + lanes, hn::Lanes(d), 1);
    f(i + 2 * lanes, hn::Lanes(d), 2);
    f(i + 3 * lanes, hn::Lanes(d), 3);
  }
  for (; i + lanes <= width; i += lanes) f(i, hn::Lanes(d), 0);
  if (i < width) f(i, static_cast<size_t>(width - i), 1);
}

using Turns = hn::Vec<hn::ScalableTag<float>>[4];

HWY_INLINE void ClearTurns(Turns& sums) {
  for (auto& sum : sums) sum = hn::Zero(hn::ScalableTag<float>());
}

HWY_INLINE float SumTurns(const Turns& sums) {
  const hn::ScalableTag<float> d;
  const auto all = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  return hn::GetLane(hn::SumOfLanes(d, all));
}

// The first `count` <= Lanes elements at p, the other lanes zero.
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadSome(D d, const T* HWY_RESTRICT p, size_t count) {
  return HWY_LIKELY(count >= hn::Lanes(d)) ? LoadF32(d, p) : LoadF32N(d, p, count);
}

template <class D, class T>
HWY_INLINE void StoreSome(hn::Vec<D> v, D d, T* HWY_RESTRICT p, size_t count) {
  if (HWY_LIKELY(count >= hn::Lanes(d))) {
    StoreF32(v, d, p);
  } else {
    StoreF32N(v, d, p, count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
