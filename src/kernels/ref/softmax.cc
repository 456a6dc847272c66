#include "kernels/softmax.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/access.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

template <class T>
void softmax(const Tensor& x_in, const Tensor& y_out) {
  const int64_t width = width_of(x_in);
  for (int64_t row = 0; row < rows_of(x_in); ++row) {
    const T* x = input<T>(x_in) + row * width;
    T* y = output<T>(y_out) + row * width;
    const T highest = *std::max_element(x, x + width);
    T sum = 0;
    for (int64_t j = 0; j < width; ++j) sum += y[j] = std::exp(x[j] - highest);
    for (int64_t j = 0; j < width; ++j) y[j] /= sum;
  }
}

template <class T>
void softmax_backward(const Tensor& y_in, const Tensor& dy_in, const Tensor& dx_out) {
  const int64_t width = width_of(y_in);
  for (int64_t row = 0; row < rows_of(y_in); ++row) {
    const T* y = input<T>(y_in) + row * width;
    const T* dy = input<T>(dy_in) + row * width;
    T* dx = output<T>(dx_out) + row * width;
    const T dot = std::inner_product(y, y + width, dy, T(0));
    for (int64_t j = 0; j < width; ++j) dx[j] = y[j] * (dy[j] - dot);
  }
}

template <class T>
void log_softmax(const Tensor& x_in, const Tensor& y_out) {
  const int64_t width = width_of(x_in);
  for (int64_t row = 0; row < rows_of(x_in); ++row) {
    const T* x = input<T>(x_in) + row * width;
    T* y = output<T>(y_out) + row * width;
    const T highest = *std::max_element(x, x + width);
    T sum = 0;
    for (int64_t j = 0; j < width; ++j) sum += std::exp(x[j] - highest);
    for (int64_t j = 0; j < width; ++j) y[j] = x[j] - highest - std::log(sum);
  }
}

template <class T>
void log_softmax_backward(const Tensor& y_in, const Tensor& dy_in, const Tensor& dx_out) {
  const int64_t width = width_of(y_in);
  for (int64_t row = 0; row < rows_of(y_in); ++row) {
    const T* y = input<T>(y_in) + row * width;
    const T* dy = input<T>(dy_in) + row * width;
    T* dx = output<T>(dx_out) + row * width;
    const T sum = std::accumulate(dy, dy + width, T(0));
    for (int64_t j = 0; j < width; ++j) dx[j] = dy[j] - std::exp(y[j]) * sum;
  }
}

}  // namespace

void register_softmax(Device device) {
  add_both(kSoftmax, device, softmax<float>, softmax<double>);
  add_both(kSoftmaxBackward, device, softmax_backward<float>, softmax_backward<double>);
  add_both(kLogSoftmax, device, log_softmax<float>, log_softmax<double>);
  add_both(kLogSoftmaxBackward, device, log_softmax_backward<float>, log_softmax_backward<double>);
}

}  // namespace glassformer::ref
