#include "glassformer/ops/create.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/copy.h"
#include "kernels/random.h"
#include "ops/common.h"
#include "tensor/convert.h"

namespace glassformer {
namespace {

// The largest number of T that is below `high`, a finite number of T's range.
template <class T>
double largest_below(double high) {
  T value = convert_to<T>(high);
  if (convert_to<double>(value) < high) return convert_to<double>(value);
  if constexpr (kIsHalf<T>) {
    const bool negative = value.bits >> 15 != 0, zero = (value.bits & 0x7FFFU) == 0;
    value.bits = static_cast<uint16_t>(zero ? 0x8001U : value.bits + (negative ? 1 : -1));
  } else if constexpr (std::is_floating_point_v<T>) {
    value = std::nextafter(value, -std::numeric_limits<T>::infinity());
  }
  return convert_to<double>(value);
}

// A kernel may have no half types: the numbers are then those of float32, rounded.
template <class K, class... Args>
Tensor fill_random(const K& kernel, const Shape& shape, TensorOptions options, RandomKey key,
                   Args... args) {
  const bool direct = is_supported(kernel, options.device, options.dtype);
  Tensor y = empty(shape, {direct ? options.dtype : DType::kFloat32, options.device});
  call(kernel, y, key, args...);
  return cast(y, options.dtype);
}

}  // namespace

Tensor full(const Shape& shape, double value, TensorOptions options) {
  Tensor y = empty(shape, options);
  call(kFill, y, value);
  return y;
}

Tensor random_uniform(const Shape& shape, RandomKey key, double low, double high,
                      TensorOptions options) {
  double most = high;
  visit_dtype(options.dtype, [&]<class T>(T) {
    if (low < high) most = largest_below<T>(high);
  });
  return fill_random(kUniform, shape, options, key, low, high, most);
}

Tensor random_normal(const Shape& shape, RandomKey key, double mean, double deviation,
                     TensorOptions options) {
  return fill_random(kNormal, shape, options, key, mean, deviation);
}

}  // namespace glassformer
