#include "kernels/rotary.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/indices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rotary.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// One head of one token; `flip` is -1 to turn back.
template <class T>
HWY_INLINE void TurnHalves(const T* x, const float* cos, const float* sin, float flip, T* y,
                           int64_t pairs) {
  const hn::ScalableTag<float> d;
  const auto sign = hn::Set(d, flip);
  ForVectors(pairs, [&](int64_t i, size_t count) HWY_ATTR {
    const auto c = LoadSome(d, cos + i, count), s = hn::Mul(LoadSome(d, sin + i, count), sign);
    const auto a = LoadSome(d, x + i, count), b = LoadSome(d, x + pairs + i, count);
    StoreSome(hn::NegMulAdd(b, s, hn::Mul(a, c)), d, y + i, count);
    StoreSome(hn::MulAdd(a, s, hn::Mul(b, c)), d, y + pairs + i, count);
  });
}

#if HWY_TARGET == HWY_SCALAR

template <class T>
HWY_INLINE void TurnInterleaved(const T* x, const float* cos, const float* sin, float flip, T* y,
                                int64_t pairs) {
  for (int64_t i = 0; i < pairs; ++i) {
    T in[2] = {x[2 * i], x[2 * i + 1]}, out[2];
    TurnHalves(in, cos + i, sin + i, flip, out, 1);
    y[2 * i] = out[0];
    y[2 * i + 1] = out[1];
  }
}

#else

// y = x (c, c) + (x with its pairs swapped) (-s, s), pair by pair.
template <class T>
HWY_INLINE void TurnInterleaved(const T* x, const float* cos, const float* sin, float flip, T* y,
                                int64_t pairs) {
  const hn::ScalableTag<float> d;
  const hn::Half<decltype(d)> half;
  const hn::RebindToSigned<decltype(d)> di;
  const auto twice = hn::IndicesFromVec(d, hn::ShiftRight<1>(hn::Iota(di, 0)));
  const auto sign = hn::OddEven(hn::Set(d, flip), hn::Set(d, -flip));
  ForVectors(2 * pairs, [&](int64_t i, size_t count) HWY_ATTR {
    const auto row = [&](const float* table) HWY_ATTR {
      const auto values = hn::ZeroExtendVector(d, LoadSome(half, table + i / 2, count / 2));
      return hn::TableLookupLanes(values, twice);
    };
    const auto v = LoadSome(d, x + i, count);
    const auto turned = hn::Mul(hn::Reverse2(d, v), hn::Mul(row(sin), sign));
    StoreSome(hn::MulAdd(v, row(cos), turned), d, y + i, count);
  });
}

#endif

// What every head of every token shares.
struct RotaryWork {
  int64_t pairs, width;
  const float *cos, *sin;
  float flip;
  bool interleaved;
};

template <class T>
HWY_INLINE void TurnHead(const RotaryWork& work, const T* x, int64_t position, T* y) {
  const float* cos = work.cos + position * work.pairs;
  const float* sin = work.sin + position * work.pairs;
  if (work.interleaved) {
    TurnInterleaved(x, cos, sin, work.flip, y, work.pairs);
  } else {
    TurnHalves(x, cos, sin, work.flip, y, work.pairs);
  }
  const int64_t turned = 2 * work.pairs;
  if (work.width > turned)
    std::memcpy(y + turned, x + turned, static_cast<size_t>(work.width - turned) * sizeof(T));
}

// Floor: one read of x and one write of y; the table's rows stay in the cache over the heads. Rows
// are taken in the order of y's memory.
void Rotary(const Tensor& x_in, const Tensor& cos, const Tensor& sin, const Tensor& positions_in,
            const Tensor& y_out, const RotaryStep& step) {
  if (positions_in.defined()) check_indices("apply_rotary", "positions", positions_in, cos.size(0));
  const RotaryWork work{cos.size(1),
                        x_in.size(3),
                        input<float>(cos),
                        input<float>(sin),
                        step.backward ? -1.0F : 1.0F,
                        step.interleaved};
  const int64_t length = x_in.size(2);
  const Strides xs = x_in.strides(), ys = y_out.strides();
  const int inner_axis = ys[1] < ys[2] ? 1 : 2, outer_axis = 3 - inner_axis;
  const int64_t inner = x_in.size(inner_axis), outer = x_in.size(outer_axis);
  const int64_t* positions = positions_in.defined() ? input<int64_t>(positions_in) : nullptr;
  visit_memory_type(x_in.dtype(), [&]<class T>(T*) HWY_ATTR {
    const auto rows = [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t at = begin; at < end; ++at) {
        const int64_t b = at / outer, i = at % outer;
        const T* x = input<T>(x_in) + b * xs[0] + i * xs[outer_axis];
        T* y = output<T>(y_out) + b * ys[0] + i * ys[outer_axis];
        for (int64_t k = 0; k < inner; ++k) {
          const int64_t t = inner_axis == 1 ? i : k;
          TurnHead(work, x + k * xs[inner_axis],
                   positions == nullptr ? step.offset + t : positions[b * length + t],
                   y + k * ys[inner_axis]);
        }
      }
    };
    parallel_ranges(x_in.size(0) * outer, row_grain(work.width * inner), rows);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {
namespace {

void rotary_table(const Tensor& cos, const Tensor& sin, const Tensor& inverse, double scaling) {
  const int64_t pairs = cos.size(1);
  const float* frequencies = input<float>(inverse);
  parallel_ranges(cos.size(0), row_grain(pairs), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      for (int64_t i = 0; i < pairs; ++i) {
        const float angle = static_cast<float>(p) * frequencies[i];
        output<float>(cos)[p * pairs + i] = std::cos(angle) * static_cast<float>(scaling);
        output<float>(sin)[p * pairs + i] = std::sin(angle) * static_cast<float>(scaling);
      }
  });
}

}  // namespace

HWY_EXPORT(Rotary);

void register_rotary() {
  add_kernel(kRotaryTable, Device::kCpu, DType::kFloat32, rotary_table);
  add_fast(kRotary, [](const Tensor& x, const Tensor& cos, const Tensor& sin,
                       const Tensor& positions, const Tensor& y, const RotaryStep& step) {
    HWY_DYNAMIC_DISPATCH(Rotary)(x, cos, sin, positions, y, step);
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
