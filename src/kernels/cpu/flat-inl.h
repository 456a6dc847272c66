// Elementwise loops over flat memory, for kernels that do not care about axes.
//
// Included once per Highway target, so the guard flips with it. Lambdas take and give f32 vectors;
// memory may be float, bfloat16 or float16.

#if defined(GLASSFORMER_KERNELS_CPU_FLAT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_FLAT_INL_H_
#undef GLASSFORMER_KERNELS_CPU_FLAT_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_FLAT_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "base/parallel.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/halves-inl.h"
#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// body(begin, end) over ranges of [0, count) that begin at multiples of 1024, over the threads.
template <class F>
HWY_INLINE void ForFlat(int64_t count, F&& body) {
  constexpr int64_t kBlock = 1024, kGrain = 16;
  parallel_ranges((count + kBlock - 1) / kBlock, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    body(begin * kBlock, std::min(count, end * kBlock));
  });
}

// True where StreamF32 may write: whole lines.
template <class U>
HWY_INLINE bool IsStreamable(const U* y) {
  return reinterpret_cast<uintptr_t>(y) % 64 == 0;
}

template <class F, class... H>
HWY_INLINE auto ApplyToHalves(F&& f, H... h) {
  return Halves<hn::ScalableTag<float>>{f(h.a...), f(h.b...)};
}

// Asks for the lines of two vectors some way ahead. A loop that computes long on each number does
// not look far enough ahead by itself to keep memory busy.
template <size_t kAhead = 4096, class T>
HWY_INLINE void FetchAhead(const T* x) {
  constexpr size_t kLine = 64, kBytes = 2 * HWY_LANES(float) * sizeof(T);
  const auto* bytes = reinterpret_cast<const uint8_t*>(x) + kAhead;
  for (size_t at = 0; at < kBytes; at += kLine) hwy::Prefetch(bytes + at);
}

// Halves that a loop computes before it streams them: some lines at a time keep memory busier than
// one by one, and what is computed side by side waits less for itself.
template <class T>
constexpr int64_t HalvesTogether() {
  constexpr int64_t kMost = 4, kBytes = 256;
  const auto bytes = static_cast<int64_t>(2 * hn::MaxLanes(hn::ScalableTag<float>()) * sizeof(T));
  return std::clamp<int64_t>(kBytes / bytes, 1, kMost);
}

// y[i] = f(x[i]...) for i in [0, count); y may be any x. With `stream` past the caches where y is
// aligned for it; follow with hwy::FlushStream().
template <class U, class F, class... T>
HWY_INLINE void MapSpan(int64_t count, bool stream, U* y, F&& f, const T*... x) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if (stream && IsStreamable(y)) {
    if constexpr ((std::is_same_v<T, U> && ...)) {  // or they would lie in different orders
      constexpr int64_t kTogether = HalvesTogether<U>();
      for (; i + kTogether * 2 * lanes <= count; i += kTogether * 2 * lanes) {
        Halves<hn::ScalableTag<float>> v[kTogether];
        HWY_UNROLL(4)
        for (int64_t k = 0; k < kTogether; ++k) {
          const int64_t at = i + k * 2 * lanes;
          (FetchAhead(x + at), ...);
          v[k] = ApplyToHalves(f, LoadHalves(d, x + at)...);
        }
        HWY_UNROLL(4)
        for (int64_t k = 0; k < kTogether; ++k) StreamHalves(v[k], d, y + i + k * 2 * lanes);
      }
    }
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      (FetchAhead(x + i), ...);
      StreamF32(f(LoadF32(d, x + i)...), f(LoadF32(d, x + i + lanes)...), d, y + i);
    }
  }
  for (; i + lanes <= count; i += lanes) StoreF32(f(LoadF32(d, x + i)...), d, y + i);
  if (i < count) {
    const auto rest = static_cast<size_t>(count - i);
    StoreF32N(f(LoadF32N(d, x + i, rest)...), d, y + i, rest);
  }
}

// The same over the threads. Flattened, or a long f is called rather than compiled into the loop,
// and then fetches its constants anew for every vector.
template <class U, class F, class... T>
HWY_INLINE void MapFlat(int64_t count, U* y, F&& f, const T*... x) {
  const bool in_place = ((static_cast<const void*>(x) == static_cast<const void*>(y)) || ...);
  const bool stream = !in_place && worth_streaming(count * static_cast<int64_t>(sizeof(U)));
  ForFlat(count, [&](int64_t begin, int64_t end) HWY_ATTR HWY_FLATTEN {
    MapSpan(end - begin, stream, y + begin, f, (x + begin)...);
    if (stream) hwy::FlushStream();
  });
}

// As memcpy, and past the caches where asked to and aligned for it.
HWY_INLINE void CopyBytes(const uint8_t* HWY_RESTRICT x, uint8_t* HWY_RESTRICT y, size_t bytes,
                          bool stream) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  if (!stream || reinterpret_cast<uintptr_t>(y) % lanes != 0) {
    std::memcpy(y, x, bytes);
    return;
  }
  size_t i = 0;
  for (; i + lanes <= bytes; i += lanes) hn::Stream(hn::LoadU(d, x + i), d, y + i);
  if (i < bytes) std::memcpy(y + i, x + i, bytes - i);  // a call, even for nothing
}

// Element `at` of memory of type T, and back.
template <class T>
HWY_INLINE float LoadOne(const T* HWY_RESTRICT p) {
  const hn::CappedTag<float, 1> d;
  return hn::GetLane(LoadF32(d, p));
}
template <class T>
HWY_INLINE void StoreOne(float value, T* HWY_RESTRICT p) {
  const hn::CappedTag<float, 1> d;
  StoreF32(hn::Set(d, value), d, p);
}

// Elements `stride` apart as neighbours in float32, and back.
template <class T>
HWY_INLINE void GatherOnes(const T* HWY_RESTRICT x, int64_t stride, int64_t count,
                           float* HWY_RESTRICT to) {
  for (int64_t i = 0; i < count; ++i) to[i] = LoadOne(x + i * stride);
}
template <class T>
HWY_INLINE void ScatterOnes(const float* HWY_RESTRICT from, int64_t count, T* HWY_RESTRICT y,
                            int64_t stride) {
  for (int64_t i = 0; i < count; ++i) StoreOne(from[i], y + i * stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
