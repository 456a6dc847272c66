#include "kernels/pointwise.h"

#include "kernels/strided_loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/flat-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

template <class F>
HWY_INLINE void VisitUnary(Unary op, F&& body) {
  switch (op) {
    case Unary::kExp:
      return body([](auto v) HWY_ATTR { return Exp(hn::DFromV<decltype(v)>(), v); });
    case Unary::kLog:
      return body([](auto v) HWY_ATTR { return Log(hn::DFromV<decltype(v)>(), v); });
    case Unary::kSqrt: return body([](auto v) HWY_ATTR { return hn::Sqrt(v); });
    case Unary::kSquare: return body([](auto v) HWY_ATTR { return hn::Mul(v, v); });
  }
}

void UnaryAny(const Tensor& x, const Tensor& y, Unary op) {
  visit_memory_type(x.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    VisitUnary(op, [&](auto f) HWY_ATTR { MapFlat(x.count(), output<T>(y), f, input<T>(x)); });
  });
}

// Comparisons rather than Min and Max, which lose a NaN.
void Clamp(const Tensor& x, const Tensor& y, double low_in, double high_in) {
  visit_memory_type(x.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    const hn::ScalableTag<float> d;
    const auto low = hn::Set(d, static_cast<float>(low_in));
    const auto high = hn::Set(d, static_cast<float>(high_in));
    MapFlat(
        x.count(), output<T>(y),
        [&](auto v) HWY_ATTR {
          return hn::IfThenElse(hn::Lt(v, low), low, hn::IfThenElse(hn::Gt(v, high), high, v));
        },
        input<T>(x));
  });
}

void ClampBackward(const Tensor& x, const Tensor& dy, const Tensor& dx, double low_in,
                   double high_in) {
  visit_memory_type(x.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    const hn::ScalableTag<float> d;
    const auto low = hn::Set(d, static_cast<float>(low_in));
    const auto high = hn::Set(d, static_cast<float>(high_in));
    MapFlat(
        x.count(), output<T>(dx),
        [&](auto v, auto g)
            HWY_ATTR { return hn::IfThenElseZero(hn::And(hn::Ge(v, low), hn::Le(v, high)), g); },
        input<T>(x), input<T>(dy));
  });
}

// Bits are moved, not numbers, so the two half types are one. Strides are 0 or 1, but for what is
// left over after whole vectors.
template <class T>
HWY_INLINE void WhereRow(const T* a, int64_t sa, const T* b, int64_t sb, const bool* condition,
                         int64_t sc, T* y, int64_t sy, int64_t width) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto load = [&](const T* p, int64_t stride, int64_t i)
                        HWY_ATTR { return stride == 0 ? hn::Set(d, *p) : hn::LoadU(d, p + i); };
  const auto flags = [&](int64_t i) HWY_ATTR {
    const auto* bytes = reinterpret_cast<const uint8_t*>(condition);
    const auto bits = sc == 0 ? hn::Set(d8, *bytes) : hn::LoadU(d8, bytes + i);
    return hn::Ne(hn::PromoteTo(d, bits), hn::Zero(d));
  };
  int64_t i = 0;
  if (sa <= 1 && sb <= 1 && sc <= 1 && sy == 1)
    for (; i + lanes <= width; i += lanes)
      hn::StoreU(hn::IfThenElse(flags(i), load(a, sa, i), load(b, sb, i)), d, y + i);
  for (; i < width; ++i) y[i * sy] = condition[i * sc] ? a[i * sa] : b[i * sb];
}

template <class T>
void WhereAs(const Tensor& a_in, const Tensor& b_in, const Tensor& condition_in,
             const Tensor& y_out) {
  const Shape& shape = y_out.shape();
  const StridedLoop<4> loop(shape, {broadcast_strides(a_in, shape), broadcast_strides(b_in, shape),
                                    broadcast_strides(condition_in, shape), y_out.strides()});
  const T* a = input<T>(a_in);
  const T* b = input<T>(b_in);
  const bool* condition = input<bool>(condition_in);
  T* y = output<T>(y_out);
  const auto piece = [&](const auto& at, int64_t begin, int64_t end) HWY_ATTR {
    const auto& s = loop.row_strides();
    WhereRow(a + at[0] + begin * s[0], s[0], b + at[1] + begin * s[1], s[1],
             condition + at[2] + begin * s[2], s[2], y + at[3] + begin * s[3], s[3], end - begin);
  };
  if (loop.rows() == 1) {
    ForFlat(loop.width(), [&](int64_t begin, int64_t end)
                              HWY_ATTR { piece(typename StridedLoop<4>::Offsets{}, begin, end); });
    return;
  }
  parallel_ranges(loop.rows(), row_grain(loop.width()), [&](int64_t begin, int64_t end) HWY_ATTR {
    loop.for_rows(begin, end, [&](const auto& at) HWY_ATTR { piece(at, 0, loop.width()); });
  });
}

void Where(const Tensor& a, const Tensor& b, const Tensor& condition, const Tensor& y) {
  size_of(y.dtype()) == 4 ? WhereAs<uint32_t>(a, b, condition, y)
                          : WhereAs<uint16_t>(a, b, condition, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(UnaryAny);
HWY_EXPORT(Clamp);
HWY_EXPORT(ClampBackward);
HWY_EXPORT(Where);

void register_pointwise() {
  add_fast(kUnary, [](const Tensor& x, const Tensor& y, Unary op) {
    HWY_DYNAMIC_DISPATCH(UnaryAny)(x, y, op);
  });
  add_fast(kClamp, [](const Tensor& x, const Tensor& y, double low, double high) {
    HWY_DYNAMIC_DISPATCH(Clamp)(x, y, low, high);
  });
  add_fast(kClampBackward,
           [](const Tensor& x, const Tensor& dy, const Tensor& dx, double low, double high) {
             HWY_DYNAMIC_DISPATCH(ClampBackward)(x, dy, dx, low, high);
           });
  add_fast(kWhere, [](const Tensor& a, const Tensor& b, const Tensor& condition, const Tensor& y) {
    HWY_DYNAMIC_DISPATCH(Where)(a, b, condition, y);
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
