// Softmax and its logarithm over rows of bfloat16: a row is written while the next one is read, so
// that memory has both to do at any time. Only where vectors have 512 bits.
//
// Included once per Highway target, so the guard flips with it.

#if defined(GLASSFORMER_KERNELS_CPU_BF16_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_BF16_SOFTMAX_INL_H_
#undef GLASSFORMER_KERNELS_CPU_BF16_SOFTMAX_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_BF16_SOFTMAX_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <utility>

#include <hwy/highway.h>

#include "kernels/cpu/exp_sum-inl.h"
#include "kernels/cpu/halves-inl.h"
#include "kernels/cpu/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86

// What is still to be written of a row whose sum is known: (i, count) gives 32 of its numbers from
// i on, as halves; count: how many there are up to the row's end.
class SoftmaxEnd {
 public:
  static constexpr bool kKeepsExps = true;
  SoftmaxEnd() = default;
  SoftmaxEnd(const hwy::bfloat16_t* /*x*/, const ExpSum& sum, const float* exps)
      : exps_(exps), scale_(_mm512_set1_ps(1.0F / sum.sum)) {}
  HWY_INLINE Halves<hn::ScalableTag<float>> operator()(int64_t i, int64_t /*count*/) const {
    using V = hn::Vec<hn::ScalableTag<float>>;
    return {V{_mm512_mul_ps(_mm512_loadu_ps(exps_ + i), scale_)},
            V{_mm512_mul_ps(_mm512_loadu_ps(exps_ + i + 16), scale_)}};
  }

 private:
  const float* exps_ = nullptr;
  __m512 scale_{};
};

class LogSoftmaxEnd {
 public:
  static constexpr bool kKeepsExps = false;
  LogSoftmaxEnd() = default;
  LogSoftmaxEnd(const hwy::bfloat16_t* x, const ExpSum& sum, const float* /*exps*/) : x_(x) {
    const double total = sum.log();
    const auto most = static_cast<float>(total);
    most_ = _mm512_set1_ps(most), rest_ = _mm512_set1_ps(static_cast<float>(total - most));
  }
  HWY_INLINE Halves<hn::ScalableTag<float>> operator()(int64_t i, int64_t count) const {
    using V = hn::Vec<hn::ScalableTag<float>>;
    const auto x = LoadSomeHalves(hn::ScalableTag<float>(), x_ + i, static_cast<size_t>(count));
    return {V{_mm512_sub_ps(_mm512_sub_ps(x.a.raw, most_), rest_)},
            V{_mm512_sub_ps(_mm512_sub_ps(x.b.raw, most_), rest_)}};
  }

 private:
  const hwy::bfloat16_t* x_ = nullptr;
  __m512 most_{}, rest_{};
};

// y from x, row by row. simple(x, y, room) does a row by itself: one whose numbers are too far
// apart, or that are none; room for width + 32 floats.
template <class End, class F>
HWY_INLINE void RowsOneBehind(int64_t width, int64_t rows, const hwy::bfloat16_t* x,
                              hwy::bfloat16_t* y, bool stream, F&& simple) {
  constexpr int64_t kLine = 32, kLines = 2, kFirst = 64;
  constexpr size_t kAhead = 4096;  // two rows of a thousand: farther ahead is slower
  const hn::ScalableTag<float> d;
  const int64_t padded = (width + kLine - 1) / kLine * kLine;
  auto* room = thread_scratch<float>(Scratch::kRow, static_cast<size_t>(2 * padded + kLine));
  stream = stream && IsStreamable(y) && IsStreamable(y + width);
  hwy::bfloat16_t* waiting = nullptr;
  End end;
  const auto write = [&](int64_t i, int64_t lines) HWY_ATTR {
    Halves<hn::ScalableTag<float>> v[kLines];
    for (int64_t k = 0, at = i; k < lines; ++k, at += kLine) v[k] = end(at, width - at);
    for (int64_t k = 0, at = i; k < lines; ++k, at += kLine) {
      if (stream)
        StreamHalves(v[k], d, waiting + at);
      else
        StoreSomeHalves(v[k], d, waiting + at, static_cast<size_t>(width - at));
    }
  };
  const auto write_beside = [&](int64_t i, int64_t lines) HWY_ATTR {
    if (waiting != nullptr) write(i, lines);
  };
  const auto finish = [&]() HWY_ATTR {
    for (int64_t i = 0; i < width; i += kLine) write_beside(i, 1);
    waiting = nullptr;
  };
  for (int64_t row = 0; row < rows; ++row, x += width, y += width) {
    float* exps = room + row % 2 * padded;
    const auto add = [&](const ShiftedExp& exp, __m512 even, __m512 odd, __m512* sums, int64_t i)
                         HWY_ATTR {
                           if constexpr (End::kKeepsExps) {
                             const __m512 a = exp(even), b = exp(odd);
                             sums[0] = _mm512_add_ps(a, sums[0]);
                             sums[1] = _mm512_add_ps(b, sums[1]);
                             _mm512_storeu_ps(exps + i, a);
                             _mm512_storeu_ps(exps + i + kLine / 2, b);
                           } else {
                             sums[0] = exp.added(even, sums[0]);
                             sums[1] = exp.added(odd, sums[1]);
                           }
                         };
    const float shift = RowMax(x, std::min(width, kFirst));
    ExpSum sum{shift, -1.0F};
    if (ShiftedExp::serves_sums(shift))
      sum.sum = SumShiftedExps<kAhead>(x, width, shift, add, write_beside);
    if (sum.sum >= 0 && sum.sum < kMuch) {
      waiting = y;
      end = End(x, sum, exps);
    } else {
      finish();
      simple(x, y, room);
    }
  }
  finish();
}

#else

class SoftmaxEnd;
class LogSoftmaxEnd;

#endif

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
