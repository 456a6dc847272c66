#include "kernels/cross_entropy.h"

#include <cmath>
#include <numeric>

#include "kernels/indices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/cross_entropy.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/exp_sum-inl.h"
#include "kernels/cpu/flat-inl.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// w: the class weights, all 1 where there are none.
struct Weights {
  const float* w;
  float sum;

  Weights(const Tensor& weights, int64_t classes)
      : w(weights.defined() ? input<float>(weights) : nullptr),
        sum(w == nullptr ? static_cast<float>(classes)
                         : static_cast<float>(std::accumulate(w, w + classes, 0.0))) {}
  float of(int64_t c) const { return w == nullptr ? 1.0F : w[c]; }
  HWY_INLINE auto At(int64_t c, size_t count) const {
    return w == nullptr ? hn::Set(hn::ScalableTag<float>(), 1.0F)
                        : LoadSome(hn::ScalableTag<float>(), w + c, count);
  }
};

// Floor: one read of the logits.
void CrossEntropy(const Tensor& logits, const Tensor& targets, const Tensor& weights,
                  const Tensor& log_sum_exp, const Tensor& losses, const CrossEntropyRule& rule) {
  check_indices(kCrossEntropy.name, "targets", targets, width_of(logits), rule.ignore_index);
  const Weights w(weights, width_of(logits));
  const auto s = static_cast<float>(rule.label_smoothing);
  const auto of_row = [&](int64_t width, int64_t row, const auto* x) HWY_ATTR {
    const int64_t t = input<int64_t>(targets)[row];
    float& total = output<float>(log_sum_exp)[row] = 0.0F;
    float& loss = output<float>(losses)[row] = 0.0F;
    if (t == rule.ignore_index) return;
    const hn::ScalableTag<float> d;
    const float target = LoadOne(x + t);
    // Only differences of logits are summed up, so that a shift common to all costs no precision.
    const float pivot = std::isfinite(target) ? target : 0.0F;
    ExpSum sum{};
    float spread = 0.0F;  // sum_c w_c (x_c - pivot)
    if (s == 0.0F) {
      sum = RowExpSum(x, width);
    } else {
      auto lanes = hn::Zero(d);
      const auto shift = hn::Set(d, pivot);
      const auto add = [&](auto v, auto, int64_t c, size_t count) HWY_ATTR {
        const auto term = hn::Mul(w.At(c, count), hn::Sub(v, shift));
        lanes = hn::Add(lanes, FirstOf(d, term, count));
      };
      const auto again = [&]() HWY_ATTR { lanes = hn::Zero(d); };
      sum = RowExpSum(x, width, again, add);
      spread = SumLanes(d, lanes);
    }
    const double log_sum = sum.log();
    const auto above = [&](float x_c) { return static_cast<float>(log_sum - x_c); };
    total = static_cast<float>(log_sum);
    loss = (1.0F - s) * w.of(t) * above(target);
    if (s != 0.0F) loss += s / static_cast<float>(width) * (w.sum * above(pivot) - spread);
  };
  ForRows(of_row, logits);
}

// Floor: one read of the logits and one write of their gradient.
void CrossEntropyBackward(const Tensor& logits, const Tensor& targets, const Tensor& weights,
                          const Tensor& log_sum_exp, const Tensor& normalizer, const Tensor& dy,
                          const Tensor& dlogits, const CrossEntropyRule& rule) {
  const bool stream = Streams(dlogits);
  const Weights w(weights, width_of(logits));
  const auto s = static_cast<float>(rule.label_smoothing);
  const float share = normalizer.defined() ? 1.0F / *input<float>(normalizer) : 1.0F;
  const bool one_dy = dy.count() == 1;
  const auto of_row = [&]<class T>(int64_t width, int64_t row, const T* x, T* dx) HWY_ATTR {
    const hn::ScalableTag<float> d;
    const int64_t t = input<int64_t>(targets)[row];
    if (t == rule.ignore_index) {
      WriteRow(dx, width, stream, [&](int64_t, size_t) HWY_ATTR { return hn::Zero(d); });
      return;
    }
    const float g = input<float>(dy)[one_dy ? 0 : row] * share;
    const float hard = g * (1.0F - s) * w.of(t), soft = g * s / static_cast<float>(width);
    const float total = input<float>(log_sum_exp)[row], factor = hard + soft * w.sum;
    const ScaledExp<T> exp(total, factor);
    const auto softmax = [&](int64_t c, size_t count) HWY_ATTR {
      constexpr int64_t kAhead = 2048;
      hwy::Prefetch(x + c + kAhead);
      return exp(LoadSome(hn::ScalableTag<float>(), x + c, count));
    };
    if (s == 0.0F) {
      WriteRow(dx, width, stream, softmax);
    } else {
      WriteRow(dx, width, stream, [&](int64_t c, size_t count) HWY_ATTR {
        return hn::NegMulAdd(hn::Set(d, soft), w.At(c, count), softmax(c, count));
      });
    }
    const float target = factor * std::exp(LoadOne(x + t) - total) - hard - soft * w.of(t);
    StoreOne(target, dx + t);
  };
  ForRows(of_row, logits, dlogits);
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(CrossEntropy);
HWY_EXPORT(CrossEntropyBackward);

void register_cross_entropy() {
  add_fast(kCrossEntropy, [](const Tensor& logits, const Tensor& targets, const Tensor& weights,
                             const Tensor& log_sum_exp, const Tensor& losses,
                             const CrossEntropyRule& rule) {
    HWY_DYNAMIC_DISPATCH(CrossEntropy)(logits, targets, weights, log_sum_exp, losses, rule);
  });
  add_fast(kCrossEntropyBackward,
           [](const Tensor& logits, const Tensor& targets, const Tensor& weights,
              const Tensor& log_sum_exp, const Tensor& normalizer, const Tensor& dy,
              const Tensor& dlogits, const CrossEntropyRule& rule) {
             HWY_DYNAMIC_DISPATCH(CrossEntropyBackward)
             (logits, targets, weights, log_sum_exp, normalizer, dy, dlogits, rule);
           });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
