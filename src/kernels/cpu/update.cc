#include "kernels/update.h"

#include <cmath>
#include <numeric>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/update.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/flat-inl.h"
#include "kernels/cpu/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

HWY_INLINE VF SetF(double value) { return hn::Set(DF(), static_cast<float>(value)); }

// A rule changes w, m and v by g, a vector at a time.
struct SgdRule {
  explicit SgdRule(const SgdUpdate& update)
      : rate(SetF(update.rate)),
        decay(SetF(update.decay)),
        scale(SetF(update.gradient_scale)),
        momentum(SetF(update.momentum)),
        nesterov(update.nesterov) {}
  HWY_INLINE void operator()(VF& w, VF& m, VF& /*v*/, VF g) const {
    g = hn::MulAdd(decay, w, hn::Mul(g, scale));
    m = hn::MulAdd(momentum, m, g);  // without momentum: g itself
    w = hn::NegMulAdd(rate, nesterov ? hn::MulAdd(momentum, m, g) : m, w);
  }
  VF rate, decay, scale, momentum;
  bool nesterov;
};

struct AdamRule {
  explicit AdamRule(const AdamUpdate& update)
      : coupled(SetF(update.decoupled ? 0 : update.decay)),
        kept(SetF(update.decoupled ? 1 - update.rate * update.decay : 1)),
        scale(SetF(update.gradient_scale)),
        beta1(SetF(update.beta1)),
        beta2(SetF(update.beta2)),
        new1(SetF(1 - update.beta1)),
        new2(SetF(1 - update.beta2)),
        epsilon(SetF(update.epsilon)),
        rate(SetF(update.rate / (1 - std::pow(update.beta1, static_cast<double>(update.step))))),
        root(SetF(1 / std::sqrt(1 - std::pow(update.beta2, static_cast<double>(update.step))))) {}
  HWY_INLINE void operator()(VF& w, VF& m, VF& v, VF g) const {
    g = hn::MulAdd(coupled, w, hn::Mul(g, scale));
    m = hn::MulAdd(beta1, m, hn::Mul(new1, g));
    v = hn::MulAdd(beta2, v, hn::Mul(hn::Mul(new2, g), g));
    const VF size = hn::MulAdd(hn::Sqrt(v), root, epsilon);
    w = hn::NegMulAdd(rate, hn::Div(m, size), hn::Mul(w, kept));
  }
  VF coupled, kept, scale, beta1, beta2, new1, new2, epsilon, rate, root;
};

struct LionRule {
  explicit LionRule(const LionUpdate& update)
      : rate(SetF(update.rate)),
        kept(SetF(1 - update.rate * update.decay)),
        scale(SetF(update.gradient_scale)),
        beta1(SetF(update.beta1)),
        beta2(SetF(update.beta2)),
        new1(SetF(1 - update.beta1)),
        new2(SetF(1 - update.beta2)) {}
  HWY_INLINE void operator()(VF& w, VF& m, VF& /*v*/, VF g) const {
    g = hn::Mul(g, scale);
    const VF direction = hn::MulAdd(beta1, m, hn::Mul(new1, g));
    const VF zero = hn::Zero(DF());
    const VF step = hn::IfThenZeroElse(hn::Eq(direction, zero), hn::CopySign(rate, direction));
    w = hn::Sub(hn::Mul(w, kept), step);
    m = hn::MulAdd(beta2, m, hn::Mul(new2, g));
  }
  VF rate, kept, scale, beta1, beta2, new1, new2;
};

// Up or down to a neighbour in bfloat16, up with the probability of how near it is.
HWY_INLINE VF RoundedByChance(VF value, hn::Vec<PhiloxField::D32> word) {
  const DF d;
  const PhiloxField::D32 du;
  const auto bits = hn::Add(hn::BitCast(du, value), hn::And(word, hn::Set(du, 0xFFFFu)));
  const VF rounded = hn::BitCast(d, hn::And(bits, hn::Set(du, 0xFFFF0000u)));
  return hn::IfThenElse(hn::IsFinite(value), rounded, value);
}

template <class T>
struct Pointers {
  T* w;
  const T* g;
  float *master, *m, *v;  // null where there is none
};

template <class T>
Pointers<T> PointersOf(const UpdateTensors& tensors) {
  const auto floats = [](const Tensor& tensor) {
    return tensor.defined() ? output<float>(tensor) : nullptr;
  };
  return {output<T>(tensors.parameter), input<T>(tensors.gradient), floats(tensors.master),
          floats(tensors.first), floats(tensors.second)};
}

// `count` elements from i on, at most a vector of them.
template <class T, class Rule, class Round>
HWY_INLINE void UpdateVector(const Pointers<T>& at, int64_t i, size_t count, const Rule& rule,
                             Round&& round) {
  const DF d;
  const bool whole = count == hn::Lanes(d);
  const auto load = [&](const auto* p)
                        HWY_ATTR { return whole ? LoadF32(d, p + i) : LoadF32N(d, p + i, count); };
  const auto store = [&](VF value, auto* p) HWY_ATTR {
    whole ? StoreF32(value, d, p + i) : StoreF32N(value, d, p + i, count);
  };
  VF w = at.master != nullptr ? load(at.master) : load(at.w);
  VF m = at.m != nullptr ? load(at.m) : hn::Zero(d);
  VF v = at.v != nullptr ? load(at.v) : hn::Zero(d);
  rule(w, m, v, load(at.g));
  if (at.m != nullptr) store(m, at.m);
  if (at.v != nullptr) store(v, at.v);
  if (at.master != nullptr) store(w, at.master);
  store(round(w), at.w);
}

template <class Rule, class Update>
HWY_INLINE void RunUpdate(const UpdateTensors& tensors, const Update& update) {
  const Rule rule(update);
  const PhiloxField field(update.rounding.value_or(RandomKey{}));
  const bool by_chance = update.rounding.has_value();
  visit_memory_type(tensors.parameter.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    const Pointers<T> at = PointersOf<T>(tensors);
    ForFlat(tensors.parameter.count(), [&](int64_t begin, int64_t end) HWY_ATTR {
      constexpr int64_t kLanes = HWY_LANES(float);
      constexpr auto kStep = static_cast<int64_t>(PhiloxField::kStep);
      for (int64_t i = begin; i < end; i += kStep) {
        PhiloxField::Words words;
        if (by_chance) words = field.At(static_cast<uint64_t>(i));
        for (int64_t half = 0; half < 2; ++half) {
          const int64_t first = i + half * kLanes;
          if (first >= end) break;
          UpdateVector(
              at, first, static_cast<size_t>(std::min(kLanes, end - first)), rule,
              [&](VF w) HWY_ATTR {
                return by_chance ? RoundedByChance(w, half == 0 ? words.first : words.second) : w;
              });
        }
      }
    });
  });
}

void Sgd(const UpdateTensors& tensors, const SgdUpdate& update) {
  RunUpdate<SgdRule>(tensors, update);
}
void Adam(const UpdateTensors& tensors, const AdamUpdate& update) {
  RunUpdate<AdamRule>(tensors, update);
}
void Lion(const UpdateTensors& tensors, const LionUpdate& update) {
  RunUpdate<LionRule>(tensors, update);
}

// Spans of one size are summed in float32 lanes, spans and blocks in order in float64: the same
// bits for any number of threads.
template <class T>
HWY_INLINE double SpanOfSquares(const T* x, int64_t count) {
  const DF d;
  constexpr int64_t kLanes = HWY_LANES(float);
  VF sum = hn::Zero(d);
  for (int64_t i = 0; i < count; i += kLanes) {
    const VF value = i + kLanes <= count ? LoadF32(d, x + i)
                                         : LoadF32N(d, x + i, static_cast<size_t>(count - i));
    sum = hn::MulAdd(value, value, sum);
  }
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
}

void SumOfSquares(const Tensor& x_in, const Tensor& sum) {
  constexpr int64_t kSpan = 1024, kBlock = 16 * kSpan;
  const int64_t count = x_in.count(), blocks = (count + kBlock - 1) / kBlock;
  std::vector<double> parts(static_cast<size_t>(blocks));
  visit_memory_type(x_in.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    const T* x = input<T>(x_in);
    parallel_ranges(blocks, 4, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t last = std::min(count, (block + 1) * kBlock);
        for (int64_t i = block * kBlock; i < last; i += kSpan)
          parts[static_cast<size_t>(block)] += SpanOfSquares(x + i, std::min(kSpan, last - i));
      }
    });
  });
  *output<double>(sum) = std::accumulate(parts.begin(), parts.end(), 0.0);
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(Sgd);
HWY_EXPORT(Adam);
HWY_EXPORT(Lion);
HWY_EXPORT(SumOfSquares);

void register_update() {
  add_fast(kSgdUpdate, [](const Tensor&, const UpdateOperands& operands, const SgdUpdate& update) {
    HWY_DYNAMIC_DISPATCH(Sgd)(operands.of, update);
  });
  add_fast(kAdamUpdate,
           [](const Tensor&, const UpdateOperands& operands, const AdamUpdate& update) {
             HWY_DYNAMIC_DISPATCH(Adam)(operands.of, update);
           });
  add_fast(kLionUpdate,
           [](const Tensor&, const UpdateOperands& operands, const LionUpdate& update) {
             HWY_DYNAMIC_DISPATCH(Lion)(operands.of, update);
           });
  add_fast(kSumOfSquares, [](const Tensor& x, const Tensor& sum) {
    HWY_DYNAMIC_DISPATCH(SumOfSquares)(x, sum);
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
