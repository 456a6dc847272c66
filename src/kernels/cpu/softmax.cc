#include "kernels/softmax.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Floor: one read and one write of the row from memory; the row itself stays in the cache between
// the passes.
void Softmax(const Tensor& x_in, const Tensor& y_out) {
  ForRows(x_in, [&](auto* type, int64_t width, int64_t row) HWY_ATTR {
    const auto* x = RowOf(type, x_in, row, width);
    auto* y = RowOf(type, y_out, row, width);
    const hn::ScalableTag<float> d;
    const auto highest = hn::Set(d, RowMax(x, width));
    auto sum = hn::Zero(d);
    MapRow(x, y, width, [&](auto v, size_t count) HWY_ATTR {
      const auto e = Exp(d, hn::Sub(v, highest));
      sum = hn::Add(sum, FirstOf(d, e, count));
      return e;
    });
    const auto scale = hn::Set(d, 1.0F / SumLanes(d, sum));
    MapRow(y, y, width, [&](auto v, size_t) HWY_ATTR { return hn::Mul(v, scale); });
  });
}

void SoftmaxBackward(const Tensor& y_in, const Tensor& dy_in, const Tensor& dx_out) {
  ForRows(y_in, [&](auto* type, int64_t width, int64_t row) HWY_ATTR {
    const auto* y = RowOf(type, y_in, row, width);
    const auto* dy = RowOf(type, dy_in, row, width);
    const hn::ScalableTag<float> d;
    const auto dot = hn::Set(d, RowDot(y, dy, width));
    MapRows(y, dy, RowOf(type, dx_out, row, width), width, [&](auto p, auto g) HWY_ATTR {
      return hn::Mul(p, hn::Sub(g, dot));
    });
  });
}

void LogSoftmax(const Tensor& x_in, const Tensor& y_out) {
  ForRows(x_in, [&](auto* type, int64_t width, int64_t row) HWY_ATTR {
    const auto* x = RowOf(type, x_in, row, width);
    const hn::ScalableTag<float> d;
    const float highest = RowMax(x, width);
    auto sum = hn::Zero(d);
    ReadRow(x, width, [&](auto v, size_t count) HWY_ATTR {
      sum = hn::Add(sum, FirstOf(d, Exp(d, hn::Sub(v, hn::Set(d, highest))), count));
    });
    const auto log_sum = hn::Set(d, highest + std::log(SumLanes(d, sum)));
    MapRow(x, RowOf(type, y_out, row, width), width,
           [&](auto v, size_t) HWY_ATTR { return hn::Sub(v, log_sum); });
  });
}

void LogSoftmaxBackward(const Tensor& y_in, const Tensor& dy_in, const Tensor& dx_out) {
  ForRows(y_in, [&](auto* type, int64_t width, int64_t row) HWY_ATTR {
    const auto* y = RowOf(type, y_in, row, width);
    const auto* dy = RowOf(type, dy_in, row, width);
    const hn::ScalableTag<float> d;
    auto sum = hn::Zero(d);
    ReadRow(dy, width, [&](auto g, size_t count) HWY_ATTR {
      sum = hn::Add(sum, FirstOf(d, g, count));
    });
    const auto total = hn::Set(d, SumLanes(d, sum));
    MapRows(y, dy, RowOf(type, dx_out, row, width), width, [&](auto l, auto g) HWY_ATTR {
      return hn::NegMulAdd(Exp(d, l), total, g);
    });
  });
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
  add_fast(kLogSoftmax,
           [](const Tensor& x, const Tensor& y) { HWY_DYNAMIC_DISPATCH(LogSoftmax)(x, y); });
  add_fast(kLogSoftmaxBackward, [](const Tensor& y, const Tensor& dy, const Tensor& dx) {
    HWY_DYNAMIC_DISPATCH(LogSoftmaxBackward)(y, dy, dx);
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
