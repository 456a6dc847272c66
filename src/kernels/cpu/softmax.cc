#include "kernels/softmax.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/bf16_softmax-inl.h"
#include "kernels/cpu/exp_sum-inl.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"
#include "kernels/cpu/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Floor: one read and one write of the rows from memory. The exponentials of a row wait for its sum
// in a buffer of their own, which stays in the cache and holds them in float32.
template <class T>
HWY_INLINE void SoftmaxRow(const T* x, T* y, int64_t width, bool stream, float* exps) {
  const hn::ScalableTag<float> d;
  const auto keep = [&](auto, auto e, int64_t i, size_t) HWY_ATTR { hn::StoreU(e, d, exps + i); };
  const auto again = [] {};  // what was kept is written over
  const auto scale = hn::Set(d, 1.0F / RowExpSum(x, width, again, keep).sum);
  WriteRow(y, width, stream,
           [&](int64_t i, size_t) HWY_ATTR { return hn::Mul(hn::LoadU(d, exps + i), scale); });
}

// Rows one by one; of bfloat16 where there is a way to do so, each beside the last one.
template <class End, class F, class T>
HWY_INLINE void ForRowsOrBeside(int64_t width, int64_t rows, const T* x, T* y,
                                [[maybe_unused]] bool stream, F&& of_row) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if constexpr (kHasShiftedExp<T>) return RowsOneBehind<End>(width, rows, x, y, stream, of_row);
#endif
  const size_t padded = static_cast<size_t>(width) + hn::Lanes(hn::ScalableTag<float>());
  auto* room = thread_scratch<float>(Scratch::kRow, padded);
  for (int64_t row = 0; row < rows; ++row) of_row(x + row * width, y + row * width, room);
}

void Softmax(const Tensor& x_in, const Tensor& y_out) {
  const bool stream = Streams(y_out);
  const auto of_rows = [&]<class T>(int64_t width, int64_t rows, int64_t, const T* x,
                                    T* y) HWY_ATTR {
    ForRowsOrBeside<SoftmaxEnd>(width, rows, x, y, stream,
                                [&](const T* x_row, T* y_row, float* room)
                                    HWY_ATTR { SoftmaxRow(x_row, y_row, width, stream, room); });
  };
  ForRowRanges(of_rows, x_in, y_out);
}

// The backwards read a row, then write it; while they write they fetch the next one, or memory
// would stand idle every other moment.
void SoftmaxBackward(const Tensor& y_in, const Tensor& dy_in, const Tensor& dx_out) {
  const bool stream = Streams(dx_out);
  const auto of_row = [&]<class T>(int64_t width, int64_t /*row*/, const T* y, const T* dy, T* dx)
                          HWY_ATTR {
                            const hn::ScalableTag<float> d;
                            const auto dot = hn::Set(d, RowDot(y, dy, width));
                            WriteRow(dx, width, stream, [&](int64_t i, size_t count) HWY_ATTR {
                              hwy::Prefetch(y + width + i);
                              hwy::Prefetch(dy + width + i);
                              const auto p = LoadSome(hn::ScalableTag<float>(), y + i, count),
                                         g = LoadSome(hn::ScalableTag<float>(), dy + i, count);
                              return hn::Mul(p, hn::Sub(g, dot));
                            });
                          };
  ForRows(of_row, y_in, dy_in, dx_out);
}

template <class T>
HWY_INLINE void LogSoftmaxRow(const T* x, T* y, int64_t width, bool stream) {
  const hn::ScalableTag<float> d;
  const double total = RowExpSum(x, width).log();
  const auto most = static_cast<float>(total);
  const auto log_sum = hn::Set(d, most), rest = hn::Set(d, static_cast<float>(total - most));
  WriteRow(y, width, stream, [&](int64_t i, size_t count) HWY_ATTR {
    return hn::Sub(hn::Sub(LoadSome(hn::ScalableTag<float>(), x + i, count), log_sum), rest);
  });
}

void LogSoftmax(const Tensor& x_in, const Tensor& y_out) {
  const bool stream = Streams(y_out);
  const auto of_rows = [&]<class T>(int64_t width, int64_t rows, int64_t, const T* x,
                                    T* y) HWY_ATTR {
    ForRowsOrBeside<LogSoftmaxEnd>(width, rows, x, y, stream,
                                   [&](const T* x_row, T* y_row, float*)
                                       HWY_ATTR { LogSoftmaxRow(x_row, y_row, width, stream); });
  };
  ForRowRanges(of_rows, x_in, y_out);
}

void LogSoftmaxBackward(const Tensor& y_in, const Tensor& dy_in, const Tensor& dx_out) {
  const bool stream = Streams(dx_out);
  const auto of_row = [&]<class T>(int64_t width, int64_t /*row*/, const T* y, const T* dy,
                                   T* dx) HWY_ATTR {
    const hn::ScalableTag<float> d;
    auto sum = hn::Zero(d);
    ReadRow(dy, width,
            [&](auto g, size_t count) HWY_ATTR { sum = hn::Add(sum, FirstOf(d, g, count)); });
    const auto total = hn::Set(d, SumLanes(d, sum));
    WriteRow(dx, width, stream, [&](int64_t i, size_t count) HWY_ATTR {
      hwy::Prefetch(y + width + i);
      hwy::Prefetch(dy + width + i);
      const auto l = LoadSome(hn::ScalableTag<float>(), y + i, count),
                 g = LoadSome(hn::ScalableTag<float>(), dy + i, count);
      return hn::NegMulAdd(ExpOfSmall<T>(d, l), total, g);
    });
  };
  ForRows(of_row, y_in, dy_in, dx_out);
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(Softmax);
HWY_EXPORT(SoftmaxBackward);
HWY_EXPORT(LogSoftmax);
HWY_EXPORT(LogSoftmaxBackward);

void register_softmax() {
  add_fast(kSoftmax, [](const Tensor& x, const Tensor& y) { HWY_DYNAMIC_DISPATCH(Softmax)(x, y); });
  add_fast(kSoftmaxBackward, [](const Tensor& y, const Tensor& dy, const Tensor& dx) {
    HWY_DYNAMIC_DISPATCH(SoftmaxBackward)(y, dy, dx);
  });
  add_fast(kLogSoftmax, [](const Tensor& x, const Tensor& y) {
    HWY_DYNAMIC_DISPATCH(LogSoftmax)(x, y);
  });
  add_fast(kLogSoftmaxBackward, [](const Tensor& y, const Tensor& dy, const Tensor& dx) {
    HWY_DYNAMIC_DISPATCH(LogSoftmaxBackward)(y, dy, dx);
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
