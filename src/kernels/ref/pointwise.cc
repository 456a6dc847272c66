#include "kernels/pointwise.h"

#include <cmath>

#include "kernels/access.h"
#include "kernels/ref/register.h"
#include "kernels/strided_loop.h"

namespace glassformer::ref {
namespace {

template <class T>
T apply(Unary op, T x) {
  switch (op) {
    case Unary::kExp: return std::exp(x);
    case Unary::kLog: return std::log(x);
    case Unary::kSqrt: return std::sqrt(x);
    case Unary::kSquare: return x * x;
  }
  return x;
}

template <class T>
void unary(const Tensor& x, const Tensor& y, Unary op) {
  for (int64_t i = 0; i < x.count(); ++i) output<T>(y)[i] = apply(op, input<T>(x)[i]);
}

template <class T>
void clamp(const Tensor& x_in, const Tensor& y, double low, double high) {
  for (int64_t i = 0; i < x_in.count(); ++i) {
    const T x = input<T>(x_in)[i];
    output<T>(y)[i] = x < static_cast<T>(low)    ? static_cast<T>(low)
                      : x > static_cast<T>(high) ? static_cast<T>(high)
                                                 : x;
  }
}

template <class T>
void clamp_backward(const Tensor& x_in, const Tensor& dy, const Tensor& dx, double low,
                    double high) {
  for (int64_t i = 0; i < x_in.count(); ++i) {
    const T x = input<T>(x_in)[i];
    const bool inside = x >= static_cast<T>(low) && x <= static_cast<T>(high);
    output<T>(dx)[i] = inside ? input<T>(dy)[i] : T(0);
  }
}

template <class T>
void where(const Tensor& a_in, const Tensor& b_in, const Tensor& condition_in,
           const Tensor& y_out) {
  const Shape& shape = y_out.shape();
  const StridedLoop<4> loop(shape, {broadcast_strides(a_in, shape), broadcast_strides(b_in, shape),
                                    broadcast_strides(condition_in, shape), y_out.strides()});
  const T* a = input<T>(a_in);
  const T* b = input<T>(b_in);
  const bool* condition = input<bool>(condition_in);
  T* y = output<T>(y_out);
  loop.for_elements([&](const auto& at) { y[at[3]] = condition[at[2]] ? a[at[0]] : b[at[1]]; });
}

}  // namespace

void register_pointwise(Device device) {
  add_both(kUnary, device, unary<float>, unary<double>);
  add_both(kClamp, device, clamp<float>, clamp<double>);
  add_both(kClampBackward, device, clamp_backward<float>, clamp_backward<double>);
  add_both(kWhere, device, where<float>, where<double>);
}

}  // namespace glassformer::ref
