#include "kernels/arithmetic.h"

#include "kernels/access.h"
#include "kernels/ref/register.h"
#include "kernels/strided_loop.h"

namespace glassformer::ref {
namespace {

template <class T>
T apply(Binary op, T a, T b) {
  switch (op) {
    case Binary::kAdd: return a + b;
    case Binary::kSubtract: return a - b;
    case Binary::kMultiply: return a * b;
    case Binary::kDivide: return a / b;
  }
  return T(0);
}

template <class T>
void binary(const Tensor& a_in, const Tensor& b_in, const Tensor& y_out, Binary op) {
  const Shape& shape = y_out.shape();
  const StridedLoop<3> loop(
      shape, {broadcast_strides(a_in, shape), broadcast_strides(b_in, shape), y_out.strides()});
  const T* a = input<T>(a_in);
  const T* b = input<T>(b_in);
  T* y = output<T>(y_out);
  loop.for_elements([&](const auto& at) { y[at[2]] = apply(op, a[at[0]], b[at[1]]); });
}

template <class T>
void affine(const Tensor& x_in, const Tensor& y_out, double scale, double shift) {
  const StridedLoop<2> loop(x_in.shape(), {x_in.strides(), y_out.strides()});
  const T* x = input<T>(x_in);
  T* y = output<T>(y_out);
  loop.for_elements(
      [&](const auto& at) { y[at[1]] = static_cast<T>(scale) * x[at[0]] + static_cast<T>(shift); });
}

}  // namespace

void register_arithmetic(Device device) {
  add_both(kBinary, device, binary<float>, binary<double>);
  add_both(kAffine, device, affine<float>, affine<double>);
}

}  // namespace glassformer::ref
