#include "kernels/batch_norm.h"

#include <cmath>

#include "kernels/access.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

// body(offset) for every element of channel c of a contiguous [N, C, S].
template <class F>
void for_channel(const Tensor& x, int64_t c, F&& body) {
  for (int64_t n = 0; n < x.size(0); ++n)
    for (int64_t s = 0; s < x.size(2); ++s) body((n * x.size(1) + c) * x.size(2) + s);
}

template <class T>
void statistics(const Tensor& x_in, const Tensor& mean_out, const Tensor& variance_out) {
  const T* x = input<T>(x_in);
  const T count = static_cast<T>(x_in.size(0) * x_in.size(2));
  for (int64_t c = 0; c < x_in.size(1); ++c) {
    T sum = 0, squares = 0;
    for_channel(x_in, c, [&](int64_t i) { sum += x[i]; });
    const T mean = sum / count;
    for_channel(x_in, c, [&](int64_t i) { squares += (x[i] - mean) * (x[i] - mean); });
    output<T>(mean_out)[c] = mean;
    output<T>(variance_out)[c] = squares / count;
  }
}

template <class T>
void batch_norm(const Tensor& x_in, const Tensor& weight, const Tensor& bias, const Tensor& mean_in,
                const Tensor& variance, const Tensor& y_out, const Tensor& rstd_out,
                double epsilon) {
  const T* x = input<T>(x_in);
  T* y = output<T>(y_out);
  for (int64_t c = 0; c < x_in.size(1); ++c) {
    const T mean = input<T>(mean_in)[c];
    const T rstd = 1 / std::sqrt(input<T>(variance)[c] + static_cast<T>(epsilon));
    const T scale = weight.defined() ? input<T>(weight)[c] : T(1);
    const T shift = bias.defined() ? input<T>(bias)[c] : T(0);
    for_channel(x_in, c, [&](int64_t i) { y[i] = (x[i] - mean) * rstd * scale + shift; });
    output<T>(rstd_out)[c] = rstd;
  }
}

template <class T>
void batch_norm_backward(const Tensor& dy_in, const Tensor& x_in, const Tensor& weight,
                         const Tensor& mean_in, const Tensor& rstd_in, const Tensor& dx_out,
                         const Tensor& dweight, const Tensor& dbias, bool own_statistics) {
  const T* x = input<T>(x_in);
  const T* dy = input<T>(dy_in);
  const T count = static_cast<T>(x_in.size(0) * x_in.size(2));
  for (int64_t c = 0; c < x_in.size(1); ++c) {
    const T mean = input<T>(mean_in)[c];
    const T rstd = input<T>(rstd_in)[c];
    const T scale = weight.defined() ? input<T>(weight)[c] : T(1);
    T sum = 0, sum_h = 0;
    for_channel(x_in, c, [&](int64_t i) {
      sum += dy[i];
      sum_h += dy[i] * (x[i] - mean) * rstd;
    });
    if (dweight.defined()) output<T>(dweight)[c] = sum_h;
    if (dbias.defined()) output<T>(dbias)[c] = sum;
    if (!dx_out.defined()) continue;
    for_channel(x_in, c, [&](int64_t i) {
      const T h = (x[i] - mean) * rstd;
      const T through_statistics = own_statistics ? (sum + h * sum_h) / count : T(0);
      output<T>(dx_out)[i] = scale * rstd * (dy[i] - through_statistics);
    });
  }
}

}  // namespace

void register_batch_norm(Device device) {
  add_both(kBatchNormStatistics, device, statistics<float>, statistics<double>);
  add_both(kBatchNorm, device, batch_norm<float>, batch_norm<double>);
  add_both(kBatchNormBackward, device, batch_norm_backward<float>, batch_norm_backward<double>);
}

}  // namespace glassformer::ref
