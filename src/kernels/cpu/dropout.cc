#include "kernels/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dropout.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/flat-inl.h"
#include "kernels/cpu/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Elements [i, end) of which there are at most PhiloxField::kStep.
template <class T>
HWY_INLINE void DropoutStep(const PhiloxField& field, uint32_t threshold, float scale, bool stream,
                            const T* x, T* y, int64_t i, int64_t end) {
  const hn::ScalableTag<float> d;
  const PhiloxField::D32 du;
  constexpr int64_t kLanes = HWY_LANES(float);
  const auto words = field.At(static_cast<uint64_t>(i));
  const auto keep = [&](auto v, auto w) HWY_ATTR {
    const auto kept = hn::RebindMask(d, hn::Not(hn::Lt(w, hn::Set(du, threshold))));
    return hn::IfThenElseZero(kept, hn::Mul(v, hn::Set(d, scale)));
  };
  if (i + 2 * kLanes <= end) {
    const auto first = keep(LoadF32(d, x + i), words.first);
    const auto second = keep(LoadF32(d, x + i + kLanes), words.second);
    if (stream) {
      StreamF32(first, second, d, y + i);
    } else {
      StoreF32(first, d, y + i);
      StoreF32(second, d, y + i + kLanes);
    }
    return;
  }
  const auto first = static_cast<size_t>(std::min(end - i, kLanes));
  StoreF32N(keep(LoadF32N(d, x + i, first), words.first), d, y + i, first);
  if (end - i <= kLanes) return;
  const auto second = static_cast<size_t>(end - i - kLanes);
  StoreF32N(keep(LoadF32N(d, x + i + kLanes, second), words.second), d, y + i + kLanes, second);
}

void Dropout(const Tensor& x_in, const Tensor& y_out, double p, RandomKey key) {
  const PhiloxField field(key);
  const uint32_t threshold = dropout_threshold(p);
  const auto scale = static_cast<float>(1 / (1 - p));
  visit_memory_type(x_in.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    const T* x = input<T>(x_in);
    T* y = output<T>(y_out);
    const bool stream = x != y && IsStreamable(y) &&
                        worth_streaming(y_out.count() * static_cast<int64_t>(sizeof(T)));
    ForFlat(x_in.count(), [&](int64_t begin, int64_t end) HWY_ATTR {
      constexpr auto kStep = static_cast<int64_t>(PhiloxField::kStep);
      for (int64_t i = begin; i < end; i += kStep)
        DropoutStep(field, threshold, scale, stream, x, y, i, std::min(end, i + kStep));
      if (stream) hwy::FlushStream();
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(Dropout);

void register_dropout() {
  add_fast(kDropout, [](const Tensor& x, const Tensor& y, double p, RandomKey key) {
    HWY_DYNAMIC_DISPATCH(Dropout)(x, y, p, key);
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
