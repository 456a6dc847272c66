#include "glassformer/ops/pointwise.h"

#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/create.h"
#include "glassformer/ops/reduce.h"
#include "kernels/pointwise.h"
#include "ops/common.h"

namespace glassformer {
namespace {

Tensor compute(const char* name, Unary op, const Tensor& x_in) {
  check_floating(name, "x", x_in);
  const Tensor x = contiguous(x_in.detach());
  Tensor y = empty_like(x);
  call(kUnary, x, y, op);
  return y;
}

// The rule of an op whose gradient is `slope(dy, saved)`; what is saved is x or y.
void record_slope(const char* name, const Tensor& x, const Tensor& y, const Tensor& saved,
                  Tensor (*slope)(const Tensor& dy, const Tensor& saved)) {
  if (!needs_grad(x)) return;
  record(name, {x}, {y}, [slope, keep = SavedTensor(name, saved)](const std::vector<Tensor>& dy) {
    return std::vector{slope(dy[0], keep.get())};
  });
}

}  // namespace

Tensor exp(const Tensor& x) {
  Tensor y = compute("exp", Unary::kExp, x);
  record_slope("exp", x, y, y, multiply);
  return y;
}

Tensor log(const Tensor& x) {
  Tensor y = compute("log", Unary::kLog, x);
  record_slope("log", x, y, x, divide);
  return y;
}

Tensor sqrt(const Tensor& x) {
  Tensor y = compute("sqrt", Unary::kSqrt, x);
  record_slope("sqrt", x, y, y,
               [](const Tensor& dy, const Tensor& y) { return divide(dy, y) * 0.5; });
  return y;
}

Tensor square(const Tensor& x) {
  Tensor y = compute("square", Unary::kSquare, x);
  record_slope("square", x, y, x,
               [](const Tensor& dy, const Tensor& x) { return multiply(dy, x) * 2; });
  return y;
}

Tensor clamp(const Tensor& x_in, double low, double high) {
  check_floating("clamp", "x", x_in);
  require<ValueError>(low <= high, "clamp: expected low <= high, found {} and {}", low, high);
  const Tensor x = contiguous(x_in);
  Tensor y = empty_like(x);
  call(kClamp, x, y, low, high);
  if (needs_grad(x))
    record("clamp", {x}, {y},
           [keep = SavedTensor("clamp", x), low, high](const std::vector<Tensor>& dy) {
             const Tensor x = keep.get();
             Tensor dx = empty_like(x);
             call(kClampBackward, x, contiguous(dy[0]), dx, low, high);
             return std::vector{dx};
           });
  return y;
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_dtype("where", "condition", condition, DType::kBool);
  check_floating("where", "a", a);
  check_defined("where", "b", b);
  check_same_device("where", {{"a", a}, {"b", b}, {"condition", condition}});
  check_same_dtype("where", {{"a", a}, {"b", b}});
  const Shape values = broadcast_shapes("where", a.shape(), b.shape());
  Tensor y = empty(broadcast_shapes("where", values, condition.shape()), a.options());
  call(kWhere, a, b, condition, y);
  if (needs_grad(a) || needs_grad(b))
    record("where", {a, b}, {y},
           [keep = SavedTensor("where", condition), sa = a.shape(), sb = b.shape(),
            need_a = needs_grad(a), need_b = needs_grad(b)](const std::vector<Tensor>& dy) {
             const Tensor condition = keep.get(), none = zeros({}, dy[0].options());
             return std::vector{need_a ? sum_to(where(condition, dy[0], none), sa) : Tensor(),
                                need_b ? sum_to(where(condition, none, dy[0]), sb) : Tensor()};
           });
  return y;
}

}  // namespace glassformer
