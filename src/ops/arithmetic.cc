#include "glassformer/ops/arithmetic.h"

#include "glassformer/ops/reduce.h"
#include "kernels/arithmetic.h"
#include "ops/common.h"

namespace glassformer {
namespace {

Tensor compute(const Tensor& a, const Tensor& b, const Shape& shape, Binary op) {
  Tensor y = empty(shape, a.options());
  call(kBinary, a, b, y, op);
  return y;
}

// Checks, forward, and the shapes both gradients go back to.
Tensor forward(const char* name, Binary op, const Tensor& a, const Tensor& b) {
  check_floating(name, "a", a);
  check_same_device(name, {{"a", a}, {"b", b}});
  check_same_dtype(name, {{"a", a}, {"b", b}});
  return compute(a, b, broadcast_shapes(name, a.shape(), b.shape()), op);
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  Tensor y = forward("add", Binary::kAdd, a, b);
  if (needs_grad(a) || needs_grad(b))
    record("add", {a, b}, {y},
           [sa = a.shape(), sb = b.shape(), need_a = needs_grad(a),
            need_b = needs_grad(b)](const std::vector<Tensor>& dy) {
             return std::vector{need_a ? sum_to(dy[0], sa) : Tensor(),
                                need_b ? sum_to(dy[0], sb) : Tensor()};
           });
  return y;
}

Tensor subtract(const Tensor& a, const Tensor& b) {
  Tensor y = forward("subtract", Binary::kSubtract, a, b);
  if (needs_grad(a) || needs_grad(b))
    record("subtract", {a, b}, {y},
           [sa = a.shape(), sb = b.shape(), need_a = needs_grad(a),
            need_b = needs_grad(b)](const std::vector<Tensor>& dy) {
             return std::vector{need_a ? sum_to(dy[0], sa) : Tensor(),
                                need_b ? affine(sum_to(dy[0], sb), -1, 0) : Tensor()};
           });
  return y;
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  Tensor y = forward("multiply", Binary::kMultiply, a, b);
  if (needs_grad(a) || needs_grad(b))
    record("multiply", {a, b}, {y},
           [keep_a = SavedTensor("multiply", a), keep_b = SavedTensor("multiply", b),
            need_a = needs_grad(a), need_b = needs_grad(b)](const std::vector<Tensor>& dy) {
             const Tensor a = keep_a.get(), b = keep_b.get();
             return std::vector{need_a ? sum_to(multiply(dy[0], b), a.shape()) : Tensor(),
                                need_b ? sum_to(multiply(dy[0], a), b.shape()) : Tensor()};
           });
  return y;
}

Tensor divide(const Tensor& a, const Tensor& b) {
  Tensor y = forward("divide", Binary::kDivide, a, b);
  if (needs_grad(a) || needs_grad(b))
    record("divide", {a, b}, {y},
           [keep_b = SavedTensor("divide", b), keep_y = SavedTensor("divide", y), sa = a.shape(),
            need_a = needs_grad(a), need_b = needs_grad(b)](const std::vector<Tensor>& dy) {
             const Tensor b = keep_b.get();
             const Tensor da = divide(dy[0], b);  // dy / b; db = -y dy / b
             return std::vector{
                 need_a ? sum_to(da, sa) : Tensor(),
                 need_b ? sum_to(affine(multiply(da, keep_y.get()), -1, 0), b.shape()) : Tensor()};
           });
  return y;
}

Tensor affine(const Tensor& x, double scale, double shift) {
  check_floating("affine", "x", x);
  Tensor y = empty_like(x);
  call(kAffine, x, y, scale, shift);
  if (needs_grad(x))
    record("affine", {x}, {y},
           [scale](const std::vector<Tensor>& dy) { return std::vector{affine(dy[0], scale, 0)}; });
  return y;
}

void add_(const Tensor& into, const Tensor& x) {
  check_in_place("add_", into);
  check_same_device("add_", {{"into", into}, {"x", x}});
  check_same_dtype("add_", {{"into", into}, {"x", x}});
  check_shape("add_", "into", into, broadcast_shapes("add_", into.shape(), x.shape()));
  call(kBinary, into, x, into, Binary::kAdd);
  into.storage()->bump_version();
}

void scale_(const Tensor& into, double scale) {
  check_in_place("scale_", into);
  call(kAffine, into, into, scale, 0.0);
  into.storage()->bump_version();
}

}  // namespace glassformer
