#include "kernels/norm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/access.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

// Element j of an optional vector.
template <class T>
T at_or(const Tensor& vector, int64_t j, T fallback) {
  return vector.defined() ? input<T>(vector)[j] : fallback;
}

template <class T>
void clear(const Tensor& y) {
  if (y.defined()) std::fill(output<T>(y), output<T>(y) + y.count(), T(0));
}

template <class T>
void layer_norm(const Tensor& x_in, const Tensor& weight, const Tensor& bias, const Tensor& y_out,
                const Tensor& mean_out, const Tensor& rstd_out, double epsilon) {
  const int64_t n = width_of(x_in);
  for (int64_t row = 0; row < rows_of(x_in); ++row) {
    const T* x = input<T>(x_in) + row * n;
    T* y = output<T>(y_out) + row * n;
    const T mean = std::accumulate(x, x + n, T(0)) / static_cast<T>(n);
    T squares = 0;
    for (int64_t j = 0; j < n; ++j) squares += (x[j] - mean) * (x[j] - mean);
    const T rstd = 1 / std::sqrt(squares / static_cast<T>(n) + static_cast<T>(epsilon));
    for (int64_t j = 0; j < n; ++j)
      y[j] = (x[j] - mean) * rstd * at_or<T>(weight, j, 1) + at_or<T>(bias, j, 0);
    if (mean_out.defined()) output<T>(mean_out)[row] = mean;
    if (rstd_out.defined()) output<T>(rstd_out)[row] = rstd;
  }
}

// Without `mean_in` nothing is subtracted: RMS normalisation.
template <class T>
void norm_backward(const Tensor& dy_in, const Tensor& x_in, const Tensor& weight,
                   const Tensor& mean_in, const Tensor& rstd_in, const Tensor& dx_out,
                   const Tensor& dweight, const Tensor& dbias) {
  const int64_t n = width_of(x_in);
  clear<T>(dweight);
  clear<T>(dbias);
  for (int64_t row = 0; row < rows_of(x_in); ++row) {
    const T* x = input<T>(x_in) + row * n;
    const T* dy = input<T>(dy_in) + row * n;
    const T mean = at_or<T>(mean_in, row, 0);
    const T rstd = input<T>(rstd_in)[row];
    T sum_g = 0, sum_gh = 0;
    for (int64_t j = 0; j < n; ++j) {
      const T h = (x[j] - mean) * rstd;
      const T g = dy[j] * at_or<T>(weight, j, 1);
      sum_g += g;
      sum_gh += g * h;
      if (dweight.defined()) output<T>(dweight)[j] += dy[j] * h;
      if (dbias.defined()) output<T>(dbias)[j] += dy[j];
    }
    if (!dx_out.defined()) continue;
    if (!mean_in.defined()) sum_g = 0;
    for (int64_t j = 0; j < n; ++j) {
      const T h = (x[j] - mean) * rstd;
      const T g = dy[j] * at_or<T>(weight, j, 1);
      output<T>(dx_out)[row * n + j] = rstd * (g - (sum_g + h * sum_gh) / static_cast<T>(n));
    }
  }
}

template <class T>
void rms_norm(const Tensor& x_in, const Tensor& weight, const Tensor& y_out, const Tensor& rstd_out,
              double epsilon) {
  const int64_t n = width_of(x_in);
  for (int64_t row = 0; row < rows_of(x_in); ++row) {
    const T* x = input<T>(x_in) + row * n;
    T* y = output<T>(y_out) + row * n;
    const T mean_square = std::inner_product(x, x + n, x, T(0)) / static_cast<T>(n);
    const T rstd = 1 / std::sqrt(mean_square + static_cast<T>(epsilon));
    for (int64_t j = 0; j < n; ++j) y[j] = x[j] * rstd * at_or<T>(weight, j, 1);
    if (rstd_out.defined()) output<T>(rstd_out)[row] = rstd;
  }
}

template <class T>
void rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& rstd,
                       const Tensor& dx, const Tensor& dweight) {
  norm_backward<T>(dy, x, weight, Tensor(), rstd, dx, dweight, Tensor());
}

}  // namespace

void register_norm(Device device) {
  add_both(kLayerNorm, device, layer_norm<float>, layer_norm<double>);
  add_both(kLayerNormBackward, device, norm_backward<float>, norm_backward<double>);
  add_both(kRmsNorm, device, rms_norm<float>, rms_norm<double>);
  add_both(kRmsNormBackward, device, rms_norm_backward<float>, rms_norm_backward<double>);
}

}  // namespace glassformer::ref
