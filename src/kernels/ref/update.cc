#include "kernels/update.h"

#include <cmath>

#include "kernels/access.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

template <class T>
T* output_if(const Tensor& tensor) {
  return tensor.defined() ? output<T>(tensor) : nullptr;
}

template <class T>
void sgd_update(const Tensor& parameter, const UpdateOperands& operands, const SgdUpdate& update) {
  T* w = output<T>(parameter);
  T* m = output_if<T>(operands.of.first);
  const T* gradient = input<T>(operands.of.gradient);
  const T rate = T(update.rate), momentum = T(update.momentum);
  for (int64_t i = 0; i < parameter.count(); ++i) {
    T g = gradient[i] * T(update.gradient_scale) + T(update.decay) * w[i];
    if (m != nullptr) {
      m[i] = momentum * m[i] + g;
      g = update.nesterov ? g + momentum * m[i] : m[i];
    }
    w[i] -= rate * g;
  }
}

template <class T>
void adam_update(const Tensor& parameter, const UpdateOperands& operands,
                 const AdamUpdate& update) {
  T* w = output<T>(parameter);
  T* m = output<T>(operands.of.first);
  T* v = output<T>(operands.of.second);
  const T* gradient = input<T>(operands.of.gradient);
  const auto step = static_cast<double>(update.step);
  const T first_share = T(1 - std::pow(update.beta1, step));
  const T second_share = T(1 - std::pow(update.beta2, step));
  for (int64_t i = 0; i < parameter.count(); ++i) {
    T g = gradient[i] * T(update.gradient_scale);
    if (update.decoupled)
      w[i] -= T(update.rate * update.decay) * w[i];
    else
      g += T(update.decay) * w[i];
    m[i] = T(update.beta1) * m[i] + T(1 - update.beta1) * g;
    v[i] = T(update.beta2) * v[i] + T(1 - update.beta2) * g * g;
    w[i] -= T(update.rate) * (m[i] / first_share) /
            (std::sqrt(v[i] / second_share) + T(update.epsilon));
  }
}

template <class T>
void lion_update(const Tensor& parameter, const UpdateOperands& operands,
                 const LionUpdate& update) {
  T* w = output<T>(parameter);
  T* m = output<T>(operands.of.first);
  const T* gradient = input<T>(operands.of.gradient);
  for (int64_t i = 0; i < parameter.count(); ++i) {
    const T g = gradient[i] * T(update.gradient_scale);
    const T direction = T(update.beta1) * m[i] + T(1 - update.beta1) * g;
    const T sign = direction > 0 ? T(1) : direction < 0 ? T(-1) : direction;
    w[i] -= T(update.rate) * (T(update.decay) * w[i] + sign);
    m[i] = T(update.beta2) * m[i] + T(1 - update.beta2) * g;
  }
}

template <class T>
void sum_of_squares(const Tensor& x_in, const Tensor& sum) {
  const T* x = input<T>(x_in);
  double total = 0;
  for (int64_t i = 0; i < x_in.count(); ++i)
    total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  *output<double>(sum) = total;
}

}  // namespace

void register_update(Device device) {
  add_both(kSgdUpdate, device, sgd_update<float>, sgd_update<double>);
  add_both(kAdamUpdate, device, adam_update<float>, adam_update<double>);
  add_both(kLionUpdate, device, lion_update<float>, lion_update<double>);
  add_both(kSumOfSquares, device, sum_of_squares<float>, sum_of_squares<double>);
}

}  // namespace glassformer::ref
