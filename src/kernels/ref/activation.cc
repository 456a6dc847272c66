#include "kernels/activation.h"

#include <cmath>
#include <numbers>

#include "kernels/access.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

template <class T>
T logistic(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

// The normal distribution function and its density.
template <class T>
T normal_cdf(T x) {
  return T(0.5) * std::erfc(-x / std::numbers::sqrt2_v<T>);
}
template <class T>
T normal_density(T x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
}

// u with gelu_tanh(x) = x (1 + tanh u) / 2.
template <class T>
T tanh_argument(T x) {
  return std::sqrt(2 * std::numbers::inv_pi_v<T>) * (x + T(0.044715) * x * x * x);
}
template <class T>
T tanh_argument_slope(T x) {
  return std::sqrt(2 * std::numbers::inv_pi_v<T>) * (1 + 3 * T(0.044715) * x * x);
}

template <class T>
T value(Activation f, T x) {
  switch (f) {
    case Activation::kNone: return x;
    case Activation::kRelu: return x < 0 ? T(0) : x;
    case Activation::kGelu: return x * normal_cdf(x);
    case Activation::kGeluTanh: return x * (1 + std::tanh(tanh_argument(x))) / 2;
    case Activation::kSilu: return x * logistic(x);
    case Activation::kSigmoid: return logistic(x);
    case Activation::kTanh: return std::tanh(x);
  }
  return x;
}

template <class T>
T slope(Activation f, T x) {
  const T s = logistic(x), t = std::tanh(x), u = std::tanh(tanh_argument(x));
  switch (f) {
    case Activation::kNone: return T(1);
    case Activation::kRelu: return x > 0 ? T(1) : T(0);
    case Activation::kGelu: return normal_cdf(x) + x * normal_density(x);
    case Activation::kGeluTanh: return (1 + u) / 2 + x * (1 - u * u) * tanh_argument_slope(x) / 2;
    case Activation::kSilu: return s * (1 + x * (1 - s));
    case Activation::kSigmoid: return s * (1 - s);
    case Activation::kTanh: return 1 - t * t;
  }
  return T(1);
}

template <class T>
void activate(const Tensor& x_in, const Tensor& y_out, Activation f) {
  const T* x = input<T>(x_in);
  T* y = output<T>(y_out);
  for (int64_t i = 0; i < x_in.count(); ++i) y[i] = value(f, x[i]);
}

template <class T>
void activate_backward(const Tensor& x_in, const Tensor& dy_in, const Tensor& dx_out,
                       Activation f) {
  const T* x = input<T>(x_in);
  const T* dy = input<T>(dy_in);
  T* dx = output<T>(dx_out);
  for (int64_t i = 0; i < x_in.count(); ++i) dx[i] = dy[i] * slope(f, x[i]);
}

template <class T>
T* row_of(const Tensor& tensor, int64_t row) {
  return output<T>(tensor) + row * tensor.strides()[0];
}

template <class T>
void gated(const Tensor& gate, const Tensor& up, const Tensor& y, Activation f) {
  for (int64_t row = 0; row < gate.size(0); ++row)
    for (int64_t j = 0; j < gate.size(1); ++j)
      row_of<T>(y, row)[j] = value(f, row_of<T>(gate, row)[j]) * row_of<T>(up, row)[j];
}

template <class T>
void gated_backward(const Tensor& gate, const Tensor& up, const Tensor& dy, const Tensor& dgate,
                    const Tensor& dup, Activation f) {
  for (int64_t row = 0; row < gate.size(0); ++row)
    for (int64_t j = 0; j < gate.size(1); ++j) {
      const T g = row_of<T>(gate, row)[j], u = row_of<T>(up, row)[j], d = row_of<T>(dy, row)[j];
      if (dgate.defined()) row_of<T>(dgate, row)[j] = d * u * slope(f, g);
      if (dup.defined()) row_of<T>(dup, row)[j] = d * value(f, g);
    }
}

}  // namespace

void register_activation(Device device) {
  add_both(kActivate, device, activate<float>, activate<double>);
  add_both(kActivateBackward, device, activate_backward<float>, activate_backward<double>);
  add_both(kGated, device, gated<float>, gated<double>);
  add_both(kGatedBackward, device, gated_backward<float>, gated_backward<double>);
}

}  // namespace glassformer::ref
