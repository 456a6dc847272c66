// Loops over the rows of contiguous tensors, for kernels that work along the last axis.
//
// Included once per Highway target, so the guard flips with it. Lambdas take f32 vectors; memory
// may be float, bfloat16 or float16. Sums keep their accumulators a lane and add the lanes in
// order: the bits depend on the row and the target alone.

#if defined(GLASSFORMER_KERNELS_CPU_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_ROW_INL_H_
#undef GLASSFORMER_KERNELS_CPU_ROW_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_ROW_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "base/parallel.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// body(width, rows, first, pointers...) for ranges of the rows of x that the threads share: how
// many they are, the first one's number, and where it lies in x and in each of the others, which
// have its shape and dtype. Writable: kernels know which of their tensors are results. Flattened,
// or a long body's loops call their lambdas rather than hold them.
template <class F, class... Others>
HWY_INLINE void ForRowRanges(F&& body, const Tensor& x, const Others&... others) {
  const int64_t width = width_of(x);
  visit_memory_type(x.dtype(), [&]<class T>(T*) HWY_ATTR {
    const auto rows = [&](auto*... all) HWY_ATTR {
      parallel_ranges(rows_of(x), row_grain(width),
                      [&](int64_t begin, int64_t end) HWY_ATTR HWY_FLATTEN {
                        body(width, end - begin, begin, (all + begin * width)...);
                        hwy::FlushStream();  // before anyone is told that the rows are there
                      });
    };
    rows(output<T>(x), output<T>(others)...);
  });
}

// body(width, row, pointers...) likewise for every row.
template <class F, class... Others>
HWY_INLINE void ForRows(F&& body, const Tensor& x, const Others&... others) {
  const auto of_range = [&](int64_t width, int64_t rows, int64_t first, auto*... all) HWY_ATTR {
    for (int64_t row = 0; row < rows; ++row) body(width, first + row, (all + row * width)...);
  };
  ForRowRanges(of_range, x, others...);
}

// v in the first `count` lanes, zero in the others.
template <class D>
HWY_INLINE hn::Vec<D> FirstOf(D d, hn::Vec<D> v, size_t count) {
  return count >= hn::Lanes(d) ? v : hn::IfThenElseZero(hn::FirstN(d, count), v);
}

// The lanes of v added up.
template <class D>
HWY_INLINE float SumLanes(D d, hn::Vec<D> v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}

// ------------------------------------------------------------------------------------ vector by
// vector

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

// f(vector, count) over a row; the last vector may have count < Lanes, the rest being zeros.
template <class T, class F>
HWY_INLINE void ReadRow(const T* HWY_RESTRICT x, int64_t width, F&& f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) f(LoadF32(d, x + i), hn::Lanes(d));
  if (i < width) {
    const auto count = static_cast<size_t>(width - i);
    f(LoadF32N(d, x + i, count), count);
  }
}

// y = f(x, count), element by element; y may be x.
template <class T, class U, class F>
HWY_INLINE void MapRow(const T* x, U* y, int64_t width, F&& f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) StoreF32(f(LoadF32(d, x + i), hn::Lanes(d)), d, y + i);
  if (i < width) {
    const auto count = static_cast<size_t>(width - i);
    StoreF32N(f(LoadF32N(d, x + i, count), count), d, y + i, count);
  }
}

// y = f(a, b), element by element; y may be a or b.
template <class A, class B, class U, class F>
HWY_INLINE void MapRows(const A* a, const B* b, U* y, int64_t width, F&& f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes)
    StoreF32(f(LoadF32(d, a + i), LoadF32(d, b + i)), d, y + i);
  if (i < width) {
    const auto count = static_cast<size_t>(width - i);
    StoreF32N(f(LoadF32N(d, a + i, count), LoadF32N(d, b + i, count)), d, y + i, count);
  }
}

// ------------------------------------------------------------------------------------ reductions

template <class T>
HWY_INLINE float RowMax(const T* x, int64_t width) {
  const hn::ScalableTag<float> d;
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto most0 = lowest, most1 = lowest, most2 = lowest, most3 = lowest;  // one chain waits on itself
  int64_t i = 0;
  for (; i + 4 * lanes <= width; i += 4 * lanes) {
    most0 = hn::Max(most0, LoadF32(d, x + i));
    most1 = hn::Max(most1, LoadF32(d, x + i + lanes));
    most2 = hn::Max(most2, LoadF32(d, x + i + 2 * lanes));
    most3 = hn::Max(most3, LoadF32(d, x + i + 3 * lanes));
  }
  auto most = hn::Max(hn::Max(most0, most1), hn::Max(most2, most3));
  ReadRow(x + i, width - i, [&](auto v, size_t count) HWY_ATTR {
    if (count < hn::Lanes(d)) v = hn::IfThenElse(hn::FirstN(d, count), v, lowest);
    most = hn::Max(most, v);
  });
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

template <class A, class B>
HWY_INLINE float RowDot(const A* a, const B* b, int64_t width) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= width; i += 2 * lanes) {
    sum0 = hn::MulAdd(LoadF32(d, a + i), LoadF32(d, b + i), sum0);
    sum1 = hn::MulAdd(LoadF32(d, a + i + lanes), LoadF32(d, b + i + lanes), sum1);
  }
  for (; i + lanes <= width; i += lanes)
    sum0 = hn::MulAdd(LoadF32(d, a + i), LoadF32(d, b + i), sum0);
  if (i < width) {
    const auto count = static_cast<size_t>(width - i);
    sum1 = hn::MulAdd(LoadF32N(d, a + i, count), LoadF32N(d, b + i, count), sum1);
  }
  return SumLanes(d, hn::Add(sum0, sum1));
}

// ------------------------------------------------------------------------------------ streaming
// An ordinary store first reads the line it is going to overwrite; a streamed one does not, which
// takes a third off the traffic of a large copy. It also leaves the result out of the caches, so
// only results that would not stay there anyway are streamed.

// Whether a kernel should stream its result.
HWY_INLINE bool Streams(const Tensor& y) {
  return worth_streaming(y.count() * static_cast<int64_t>(size_of(y.dtype())));
}

// y[i] = f(i, count) for i stepping through [begin, end); f gives the f32 vector of elements
// [i, i + count).
template <class T, class F>
HWY_INLINE void WriteCached(T* y, int64_t begin, int64_t end, F&& f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) StoreF32(f(i, hn::Lanes(d)), d, y + i);
  if (i < end) {
    const auto count = static_cast<size_t>(end - i);
    StoreF32N(f(i, count), d, y + i, count);
  }
}

// The same for [0, width); with `stream`, around the caches from the first whole line to the last.
template <class T, class F>
HWY_INLINE void WriteRow(T* y, int64_t width, bool stream, F&& f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t done = 0;
  if (stream) {
    constexpr size_t kLine = 64;
    const size_t past = reinterpret_cast<uintptr_t>(y) % kLine;
    done = std::min(width, static_cast<int64_t>((kLine - past) % kLine / sizeof(T)));
    WriteCached(y, 0, done, f);
    for (; done + 2 * lanes <= width; done += 2 * lanes)
      StreamF32(f(done, hn::Lanes(d)), f(done + lanes, hn::Lanes(d)), d, y + done);
  }
  WriteCached(y, done, width, f);
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
