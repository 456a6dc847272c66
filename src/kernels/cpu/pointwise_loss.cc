#include "kernels/pointwise_loss.h"

#include <algorithm>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_loss.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Elements of one partial sum. The blocks do not depend on the threads, and so neither do the bits.
constexpr int64_t kLossBlock = 1 << 14;

// body(T* type, begin, count) for the blocks of x, over the threads.
template <class F>
HWY_INLINE void ForBlocks(const Tensor& x, F&& body) {
  const int64_t blocks = (x.count() + kLossBlock - 1) / kLossBlock;
  visit_memory_type(x.dtype(), [&](auto* type) HWY_ATTR {
    parallel_ranges(blocks, 2, [&](int64_t first, int64_t last) HWY_ATTR {
      for (int64_t at = first * kLossBlock; at < std::min(last * kLossBlock, x.count());
           at += kLossBlock)
        body(type, at, std::min(kLossBlock, x.count() - at));
      hwy::FlushStream();
    });
  });
}

// y = scale * loss, element by element or summed up; loss(T* type, i, count) gives a vector.
template <class F>
HWY_INLINE void GiveLosses(const Tensor& x, const Tensor& y_out, double scale, F&& loss) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto* y = output<float>(y_out);
  if (y_out.shape() == x.shape()) {
    const bool stream = Streams(y_out);
    ForBlocks(x, [&](auto* type, int64_t at, int64_t count) HWY_ATTR {
      WriteRow(y + at, count, stream, [&](int64_t i, size_t valid) HWY_ATTR {
        return hn::Mul(loss(type, at + i, valid), hn::Set(d, static_cast<float>(scale)));
      });
    });
    return;
  }
  std::vector<float> partial(static_cast<size_t>((x.count() + kLossBlock - 1) / kLossBlock));
  ForBlocks(x, [&](auto* type, int64_t at, int64_t count) HWY_ATTR {
    auto sum = hn::Zero(d);
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) sum = hn::Add(sum, loss(type, at + i, hn::Lanes(d)));
    if (i < count) {
      const auto rest = static_cast<size_t>(count - i);
      sum = hn::Add(sum, FirstOf(d, loss(type, at + i, rest), rest));
    }
    partial[static_cast<size_t>(at / kLossBlock)] = SumLanes(d, sum);
  });
  double total = 0;
  for (const float part : partial) total += part;
  *y = static_cast<float>(total * scale);
}

// dx = dy * scale * slope, with dy of one element or of x's shape.
template <class F>
HWY_INLINE void GiveGradient(const Tensor& dy_in, const Tensor& dx_out, double scale, F&& slope) {
  const hn::ScalableTag<float> d;
  const bool stream = Streams(dx_out), one = dy_in.count() == 1;
  const auto* dy = input<float>(dy_in);
  const auto common = hn::Set(d, static_cast<float>(scale) * (one ? *dy : 1.0F));
  ForBlocks(dx_out, [&]<class T>(T* type, int64_t at, int64_t count) HWY_ATTR {
    WriteRow(output<T>(dx_out) + at, count, stream, [&](int64_t i, size_t valid) HWY_ATTR {
      const auto part = hn::Mul(slope(type, at + i, valid), common);
      return one ? part : hn::Mul(part, LoadSome(hn::ScalableTag<float>(), dy + at + i, valid));
    });
  });
}

// Elements [i, i + count) of x; 1 where there is no x.
template <class T>
HWY_INLINE auto ValuesAt(const T* /*type*/, const Tensor& x, int64_t i, size_t count) {
  return x.defined() ? LoadSome(hn::ScalableTag<float>(), input<T>(x) + i, count)
                     : hn::Set(hn::ScalableTag<float>(), 1.0F);
}

void Mse(const Tensor& x, const Tensor& t, const Tensor& y, double scale) {
  GiveLosses(x, y, scale, [&](auto* type, int64_t i, size_t count) HWY_ATTR {
    const auto gap = hn::Sub(ValuesAt(type, x, i, count), ValuesAt(type, t, i, count));
    return hn::Mul(gap, gap);
  });
}

void MseBackward(const Tensor& x, const Tensor& t, const Tensor& dy, const Tensor& dx,
                 double scale) {
  GiveGradient(dy, dx, 2 * scale, [&](auto* type, int64_t i, size_t count) HWY_ATTR {
    return hn::Sub(ValuesAt(type, x, i, count), ValuesAt(type, t, i, count));
  });
}

// log(1 + e^-|x|) = 2 artanh(e / (2 + e)), e = e^-|x| in (0, 1]; the series runs in z^2 <= 1/9.
template <class D>
HWY_INLINE hn::Vec<D> LogOnePlusExp(D d, hn::Vec<D> x) {
  const auto e = Exp(d, hn::Neg(hn::Abs(x)));
  const auto z = hn::Div(e, hn::Add(hn::Set(d, 2.0F), e));
  constexpr float kTerms[] = {2.0F,        2.0F / 3.0F,  2.0F / 5.0F,  2.0F / 7.0F,
                              2.0F / 9.0F, 2.0F / 11.0F, 2.0F / 13.0F, 2.0F / 15.0F};
  return hn::Mul(z, Polynomial(d, hn::Mul(z, z), kTerms));
}

void BinaryCrossEntropy(const Tensor& x_in, const Tensor& t_in, const Tensor& p, const Tensor& w,
                        const Tensor& y, double scale) {
  const hn::ScalableTag<float> d;
  GiveLosses(x_in, y, scale, [&](auto* type, int64_t i, size_t count) HWY_ATTR {
    const auto x = ValuesAt(type, x_in, i, count), t = ValuesAt(type, t_in, i, count);
    const auto rest = LogOnePlusExp(d, x);
    const auto negative = hn::Add(Relu(d, x), rest), positive = hn::Add(Relu(d, hn::Neg(x)), rest);
    const auto hit = hn::Mul(hn::Mul(ValuesAt(type, p, i, count), t), positive);
    const auto sum = hn::MulAdd(hn::Sub(hn::Set(d, 1.0F), t), negative, hit);
    return hn::Mul(ValuesAt(type, w, i, count), sum);
  });
}

void BinaryCrossEntropyBackward(const Tensor& x_in, const Tensor& t_in, const Tensor& p,
                                const Tensor& w, const Tensor& dy, const Tensor& dx, double scale) {
  const hn::ScalableTag<float> d;
  GiveGradient(dy, dx, scale, [&](auto* type, int64_t i, size_t count) HWY_ATTR {
    const auto x = math::ClampMagnitude(d, ValuesAt(type, x_in, i, count), 80.0F);
    const auto t = ValuesAt(type, t_in, i, count);
    const auto sigmoid = math::SigmoidBoth(d, x);
    const auto hit = hn::Mul(hn::Mul(ValuesAt(type, p, i, count), t), sigmoid.complement);
    const auto slope = hn::MulSub(hn::Sub(hn::Set(d, 1.0F), t), sigmoid.value, hit);
    return hn::Mul(ValuesAt(type, w, i, count), slope);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(Mse);
HWY_EXPORT(MseBackward);
HWY_EXPORT(BinaryCrossEntropy);
HWY_EXPORT(BinaryCrossEntropyBackward);

void register_pointwise_loss() {
  add_fast(kMse, [](const Tensor& x, const Tensor& t, const Tensor& y, double scale) {
    HWY_DYNAMIC_DISPATCH(Mse)(x, t, y, scale);
  });
  add_fast(kMseBackward,
           [](const Tensor& x, const Tensor& t, const Tensor& dy, const Tensor& dx, double scale) {
             HWY_DYNAMIC_DISPATCH(MseBackward)(x, t, dy, dx, scale);
           });
  add_fast(kBinaryCrossEntropy, [](const Tensor& x, const Tensor& t, const Tensor& p,
                                   const Tensor& w, const Tensor& y, double scale) {
    HWY_DYNAMIC_DISPATCH(BinaryCrossEntropy)(x, t, p, w, y, scale);
  });
  add_fast(kBinaryCrossEntropyBackward,
           [](const Tensor& x, const Tensor& t, const Tensor& p, const Tensor& w, const Tensor& dy,
              const Tensor& dx, double scale) {
             HWY_DYNAMIC_DISPATCH(BinaryCrossEntropyBackward)(x, t, p, w, dy, dx, scale);
           });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
