// Row loops that may write around the caches, and read ahead of themselves.
//
// Included once per Highway target, so the guard flips with it. An ordinary store first reads the
// line it is going to overwrite; a streamed one does not, which takes a third off the traffic of a
// large copy. It also leaves the result out of the caches, so only results that would not stay
// there anyway are streamed.

#if defined(GLASSFORMER_KERNELS_CPU_STREAM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_STREAM_INL_H_
#undef GLASSFORMER_KERNELS_CPU_STREAM_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_STREAM_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "base/parallel.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whether a kernel should stream its result.
HWY_INLINE bool Streams(const Tensor& y) {
  return worth_streaming(y.count() * static_cast<int64_t>(size_of(y.dtype())));
}

// body(T* type, width, row) for every row of x, over the threads, for kernels that may stream.
template <class F>
HWY_INLINE void ForStreamedRows(const Tensor& x, F&& body) {
  const int64_t width = width_of(x);
  visit_memory_type(x.dtype(), [&](auto* type) HWY_ATTR {
    parallel_ranges(rows_of(x), row_grain(width), [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t row = begin; row < end; ++row) body(type, width, row);
      hwy::FlushStream();  // before anyone is told that the rows are there
    });
  });
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
