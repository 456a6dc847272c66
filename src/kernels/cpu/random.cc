#include "kernels/random.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/random.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/flat-inl.h"
#include "kernels/cpu/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

constexpr int64_t kLanes = HWY_LANES(float);

// y[i ..] = v, up to `end`.
template <class T>
HWY_INLINE void StoreUpTo(hn::Vec<hn::ScalableTag<float>> v, T* y, int64_t i, int64_t end) {
  const hn::ScalableTag<float> d;
  if (i + kLanes <= end) {
    StoreF32(v, d, y + i);
  } else if (i < end) {
    StoreF32N(v, d, y + i, static_cast<size_t>(end - i));
  }
}

// Words as numbers in [0, 1), like uniform_from_word.
HWY_INLINE hn::Vec<hn::ScalableTag<float>> Unit(hn::Vec<PhiloxField::D32> words) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<int32_t> di;
  return hn::Mul(hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(words))), hn::Set(d, 0x1p-24f));
}

void Uniform(const Tensor& y_out, RandomKey key, double low, double high, double most) {
  const PhiloxField field(key);
  visit_memory_type(y_out.dtype(), [&](auto* type) HWY_ATTR {
    auto* y = output<std::remove_pointer_t<decltype(type)>>(y_out);
    ForFlat(y_out.count(), [&](int64_t begin, int64_t end) HWY_ATTR {
      const hn::ScalableTag<float> d;
      const auto from = hn::Set(d, static_cast<float>(low));
      const auto range = hn::Set(d, static_cast<float>(high - low));
      const auto limit = hn::Set(d, static_cast<float>(most));
      const auto number = [&](auto words) HWY_ATTR {
        return hn::Min(hn::MulAdd(Unit(words), range, from), limit);
      };
      for (int64_t i = begin; i < end; i += 2 * kLanes) {
        const auto words = field.At(static_cast<uint64_t>(i));
        StoreUpTo(number(words.first), y, i, end);
        StoreUpTo(number(words.second), y, i + kLanes, end);
      }
    });
  });
}

void Normal(const Tensor& y_out, RandomKey key, double mean, double deviation) {
  const PhiloxField field(key);
  visit_memory_type(y_out.dtype(), [&](auto* type) HWY_ATTR {
    auto* y = output<std::remove_pointer_t<decltype(type)>>(y_out);
    ForFlat(y_out.count(), [&](int64_t begin, int64_t end) HWY_ATTR {
      const hn::ScalableTag<float> d;
      [[maybe_unused]] const PhiloxField::D32 d32;
      const auto one = hn::Set(d, 1.0f);
      const auto center = hn::Set(d, static_cast<float>(mean));
      const auto scale = hn::Set(d, static_cast<float>(deviation));
      for (int64_t i = begin; i < end; i += kLanes) {
        const auto words = field.At(static_cast<uint64_t>(2 * i));
#if HWY_TARGET != HWY_SCALAR
        const auto even = hn::ConcatEven(d32, words.second, words.first);
        const auto odd = hn::ConcatOdd(d32, words.second, words.first);
#else
        const auto even = words.first, odd = words.second;
#endif
        const auto log = Log(d, hn::Sub(one, Unit(even)));  // 1 - u is exact, and never 0
        const auto radius = hn::Sqrt(hn::Mul(log, hn::Set(d, -2.0f)));
        const auto normal = hn::Mul(radius, CosTurns(d, Unit(odd)));
        StoreUpTo(hn::MulAdd(normal, scale, center), y, i, end);
      }
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(Uniform);
HWY_EXPORT(Normal);

void register_random() {
  add_fast(kUniform, [](const Tensor& y, RandomKey key, double low, double high, double most) {
    HWY_DYNAMIC_DISPATCH(Uniform)(y, key, low, high, most);
  });
  add_fast(kNormal, [](const Tensor& y, RandomKey key, double mean, double deviation) {
    HWY_DYNAMIC_DISPATCH(Normal)(y, key, mean, deviation);
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
