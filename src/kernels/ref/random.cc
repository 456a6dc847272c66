#include "kernels/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/philox.h"
#include "kernels/access.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

template <class T>
void uniform(const Tensor& y_out, RandomKey key, double low, double high, double most) {
  T* y = output<T>(y_out);
  for (int64_t i = 0; i < y_out.count(); ++i) {
    const double u = uniform_from_word(philox_word(key, static_cast<uint64_t>(i)));
    y[i] = static_cast<T>(std::min(low + (high - low) * u, most));
  }
}

template <class T>
void normal(const Tensor& y_out, RandomKey key, double mean, double deviation) {
  T* y = output<T>(y_out);
  for (int64_t i = 0; i < y_out.count(); ++i) {
    const auto word = static_cast<uint64_t>(2 * i);
    const double radius = std::sqrt(-2 * std::log(1.0 - uniform_from_word(philox_word(key, word))));
    const double angle = 2 * std::numbers::pi * uniform_from_word(philox_word(key, word + 1));
    y[i] = static_cast<T>(mean + deviation * radius * std::cos(angle));
  }
}

}  // namespace

void register_random(Device device) {
  add_both(kUniform, device, uniform<float>, uniform<double>);
  add_both(kNormal, device, normal<float>, normal<double>);
}

}  // namespace glassformer::ref
