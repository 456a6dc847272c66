#include "glassformer/ops/create.h"

#include "kernels/copy.h"
#include "kernels/random.h"
#include "ops/common.h"

namespace glassformer {
namespace {

// Half types have no kernel of their own: the numbers are those of float32, rounded.
template <class K>
Tensor fill_random(const K& kernel, const Shape& shape, RandomKey key, double a, double b,
                   TensorOptions options) {
  const bool direct = is_supported(kernel, options.device, options.dtype);
  Tensor y = empty(shape, {direct ? options.dtype : DType::kFloat32, options.device});
  call(kernel, y, key, a, b);
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
  return fill_random(kUniform, shape, key, low, high, options);
}

Tensor random_normal(const Shape& shape, RandomKey key, double mean, double deviation,
                     TensorOptions options) {
  return fill_random(kNormal, shape, key, mean, deviation, options);
}

}  // namespace glassformer
