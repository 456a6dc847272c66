#include "kernels/activation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/activation.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/activation-inl.h"
#include "kernels/cpu/flat-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

void Activate(const Tensor& x, const Tensor& y, Activation activation) {
  visit_memory_type(x.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    VisitActivation(activation, [&](auto f) HWY_ATTR {
      const hn::ScalableTag<float> d;
      MapFlat(
          x.count(), output<T>(y), [&](auto v) HWY_ATTR { return f.template Value<T>(d, v); },
          input<T>(x));
    });
  });
}

void ActivateBackward(const Tensor& x, const Tensor& dy, const Tensor& dx, Activation activation) {
  visit_memory_type(x.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    VisitActivation(activation, [&](auto f) HWY_ATTR {
      const hn::ScalableTag<float> d;
      MapFlat(
          x.count(), output<T>(dx),
          [&](auto v, auto g) HWY_ATTR { return hn::Mul(g, f.template Gradient<T>(d, v)); },
          input<T>(x), input<T>(dy));
    });
  });
}

// body(row) over the threads for [rows, width] tensors.
template <class F>
HWY_INLINE void ForGatedRows(const Tensor& gate, F&& body) {
  parallel_ranges(gate.size(0), row_grain(gate.size(1)), [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) body(row);
    hwy::FlushStream();
  });
}

template <class T>
HWY_INLINE T* StridedRow(const Tensor& x, int64_t row) {
  return output<T>(x) + row * x.strides()[0];
}

bool StreamsResult(const Tensor& y) {
  return worth_streaming(y.count() * static_cast<int64_t>(size_of(y.dtype())));
}

void Gated(const Tensor& gate, const Tensor& up, const Tensor& y, Activation activation) {
  const bool stream = StreamsResult(y);
  visit_memory_type(gate.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    VisitActivation(activation, [&](auto f) HWY_ATTR {
      ForGatedRows(gate, [&](int64_t row) HWY_ATTR {
        const hn::ScalableTag<float> d;
        MapSpan(
            gate.size(1), stream, StridedRow<T>(y, row),
            [&](auto g, auto u) HWY_ATTR { return hn::Mul(f.template Value<T>(d, g), u); },
            StridedRow<const T>(gate, row), StridedRow<const T>(up, row));
      });
    });
  });
}

template <class V>
struct GatedPair {
  V gate, up;
};

// Both gradients of one row in one pass.
template <class T, class Function>
HWY_INLINE void GatedGradients(Function f, const T* gate, const T* up, const T* dy, T* dgate,
                               T* dup, int64_t width, bool stream) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto both = [&](auto g, auto u, auto down) HWY_ATTR {
    return GatedPair<decltype(g)>{hn::Mul(hn::Mul(down, u), f.template Gradient<T>(d, g)),
                                  hn::Mul(down, f.template Value<T>(d, g))};
  };
  const auto at = [&](int64_t i) HWY_ATTR {
    return both(LoadF32(d, gate + i), LoadF32(d, up + i), LoadF32(d, dy + i));
  };
  int64_t i = 0;
  if (stream && IsStreamable(dgate) && IsStreamable(dup)) {
    for (; i + 2 * lanes <= width; i += 2 * lanes) {
      const auto first = at(i), second = at(i + lanes);
      StreamF32(first.gate, second.gate, d, dgate + i);
      StreamF32(first.up, second.up, d, dup + i);
    }
  }
  for (; i + lanes <= width; i += lanes) {
    const auto one = at(i);
    StoreF32(one.gate, d, dgate + i);
    StoreF32(one.up, d, dup + i);
  }
  if (i == width) return;
  const auto rest = static_cast<size_t>(width - i);
  const auto one =
      both(LoadF32N(d, gate + i, rest), LoadF32N(d, up + i, rest), LoadF32N(d, dy + i, rest));
  StoreF32N(one.gate, d, dgate + i, rest);
  StoreF32N(one.up, d, dup + i, rest);
}

void GatedBackward(const Tensor& gate, const Tensor& up, const Tensor& dy, const Tensor& dgate,
                   const Tensor& dup, Activation activation) {
  const bool stream = StreamsResult(gate);
  visit_memory_type(gate.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    VisitActivation(activation, [&](auto f) HWY_ATTR {
      ForGatedRows(gate, [&](int64_t row) HWY_ATTR {
        const hn::ScalableTag<float> d;
        const int64_t width = gate.size(1);
        const T* g = StridedRow<const T>(gate, row);
        const T* u = StridedRow<const T>(up, row);
        const T* down = StridedRow<const T>(dy, row);
        if (dgate.defined() && dup.defined()) {
          GatedGradients(f, g, u, down, StridedRow<T>(dgate, row), StridedRow<T>(dup, row), width,
                         stream);
        } else if (dgate.defined()) {
          MapSpan(
              width, stream, StridedRow<T>(dgate, row),
              [&](auto x, auto y, auto dz)
                  HWY_ATTR { return hn::Mul(hn::Mul(dz, y), f.template Gradient<T>(d, x)); },
              g, u, down);
        } else {
          MapSpan(
              width, stream, StridedRow<T>(dup, row),
              [&](auto x, auto dz) HWY_ATTR { return hn::Mul(dz, f.template Value<T>(d, x)); }, g,
              down);
        }
      });
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(Activate);
HWY_EXPORT(ActivateBackward);
HWY_EXPORT(Gated);
HWY_EXPORT(GatedBackward);

void register_activation() {
  add_fast(kActivate, [](const Tensor& x, const Tensor& y, Activation f) {
    HWY_DYNAMIC_DISPATCH(Activate)(x, y, f);
  });
  add_fast(kActivateBackward,
           [](const Tensor& x, const Tensor& dy, const Tensor& dx, Activation f) {
             HWY_DYNAMIC_DISPATCH(ActivateBackward)(x, dy, dx, f);
           });
  add_fast(kGated, [](const Tensor& gate, const Tensor& up, const Tensor& y, Activation f) {
    HWY_DYNAMIC_DISPATCH(Gated)(gate, up, y, f);
  });
  add_fast(kGatedBackward, [](const Tensor& gate, const Tensor& up, const Tensor& dy,
                              const Tensor& dgate, const Tensor& dup, Activation f) {
    HWY_DYNAMIC_DISPATCH(GatedBackward)(gate, up, dy, dgate, dup, f);
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
