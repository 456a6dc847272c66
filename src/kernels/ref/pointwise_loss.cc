#include "kernels/pointwise_loss.h"

#include <algorithm>
#include <cmath>

#include "kernels/access.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

// y_i = scale * loss(i), or their sum; it is the same for a single element.
template <class T, class F>
void give_losses(const Tensor& x, const Tensor& y_out, double scale, F&& loss) {
  T* y = output<T>(y_out);
  const bool each = y_out.shape() == x.shape();
  if (!each) *y = 0;
  for (int64_t i = 0; i < x.count(); ++i) {
    const T value = loss(i);
    if (each) {
      y[i] = value * static_cast<T>(scale);
    } else {
      *y += value;
    }
  }
  if (!each) *y *= static_cast<T>(scale);
}

template <class T>
T upstream(const Tensor& dy, int64_t i) {
  return input<T>(dy)[dy.count() == 1 ? 0 : i];
}

template <class T>
void mse(const Tensor& x, const Tensor& t, const Tensor& y, double scale) {
  give_losses<T>(x, y, scale, [&](int64_t i) {
    const T gap = input<T>(x)[i] - input<T>(t)[i];
    return gap * gap;
  });
}

template <class T>
void mse_backward(const Tensor& x, const Tensor& t, const Tensor& dy, const Tensor& dx,
                  double scale) {
  for (int64_t i = 0; i < x.count(); ++i)
    output<T>(dx)[i] =
        upstream<T>(dy, i) * static_cast<T>(scale) * 2 * (input<T>(x)[i] - input<T>(t)[i]);
}

template <class T>
T weight_of(const Tensor& weights, int64_t i) {
  return weights.defined() ? input<T>(weights)[i] : T(1);
}

// log(1 + e^x) without overflow.
template <class T>
T softplus(T x) {
  return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}

template <class T>
void binary_cross_entropy(const Tensor& x_in, const Tensor& t_in, const Tensor& p, const Tensor& w,
                          const Tensor& y, double scale) {
  give_losses<T>(x_in, y, scale, [&](int64_t i) {
    const T x = input<T>(x_in)[i], t = input<T>(t_in)[i];
    return weight_of<T>(w, i) * ((1 - t) * softplus(x) + weight_of<T>(p, i) * t * softplus(-x));
  });
}

template <class T>
void binary_cross_entropy_backward(const Tensor& x_in, const Tensor& t_in, const Tensor& p,
                                   const Tensor& w, const Tensor& dy, const Tensor& dx,
                                   double scale) {
  const auto sigmoid = [](T x) { return 1 / (1 + std::exp(-x)); };
  for (int64_t i = 0; i < x_in.count(); ++i) {
    const T x = input<T>(x_in)[i], t = input<T>(t_in)[i];
    output<T>(dx)[i] = upstream<T>(dy, i) * static_cast<T>(scale) * weight_of<T>(w, i) *
                       ((1 - t) * sigmoid(x) - weight_of<T>(p, i) * t * sigmoid(-x));
  }
}

}  // namespace

void register_pointwise_loss(Device device) {
  add_both(kMse, device, mse<float>, mse<double>);
  add_both(kMseBackward, device, mse_backward<float>, mse_backward<double>);
  add_both(kBinaryCrossEntropy, device, binary_cross_entropy<float>, binary_cross_entropy<double>);
  add_both(kBinaryCrossEntropyBackward, device, binary_cross_entropy_backward<float>,
           binary_cross_entropy_backward<double>);
}

}  // namespace glassformer::ref
