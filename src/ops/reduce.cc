#include "glassformer/ops/reduce.h"

#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/view.h"
#include "kernels/reduce.h"
#include "ops/common.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

struct Largest {
  Tensor values, indices;  // [rows...] with `axis` of size 1
};

Largest largest(const char* op, const Tensor& x_in, int axis_in) {
  check_floating(op, "x", x_in);
  const int axis = normalize_axis(op, axis_in, x_in.rank());
  require<ShapeError>(x_in.shape()[axis] > 0, "{}: expected an axis of size 1 or more, found {}",
                      op, x_in.shape());
  const Tensor x = contiguous(transpose(x_in, axis, -1));
  const Shape rows = x.shape().with(x.rank() - 1, 1);
  Tensor values = empty(rows, x.options());
  Tensor indices = empty(rows, {DType::kInt64, x.device()});
  call(kMaxOfRows, x, values, indices);
  if (needs_grad(x))
    record(op, {x}, {values}, [shape = x.shape(), indices](const std::vector<Tensor>& dy) {
      Tensor dx = empty(shape, dy[0].options());
      call(kMaxOfRowsBackward, contiguous(dy[0]), indices, dx);
      return std::vector{dx};
    });
  return {transpose(values, axis, -1), transpose(indices, axis, -1)};
}

}  // namespace

Tensor sum_to(const Tensor& x, const Shape& shape) {
  check_floating("sum_to", "x", x);
  if (x.shape() == shape) return x;
  require<ShapeError>(broadcast_shapes("sum_to", x.shape(), shape) == x.shape(),
                      "sum_to: expected a shape that broadcasts to {}, found {}", x.shape(), shape);
  Tensor y = empty(shape, x.options());
  call(kSumTo, contiguous(x.detach()), y);
  if (needs_grad(x))
    record("sum_to", {x}, {y}, [from = x.shape()](const std::vector<Tensor>& dy) {
      return std::vector{expand(dy[0], from)};
    });
  return y;
}

Tensor sum(const Tensor& x, const std::vector<int>& axes, bool keep) {
  check_floating("sum", "x", x);
  Shape kept = axes.empty() ? Dims::filled(x.rank(), 1) : x.shape();
  for (int axis : axes) kept[normalize_axis("sum", axis, x.rank())] = 1;
  Tensor y = sum_to(x, kept);
  if (keep) return y;
  Shape shape;
  std::vector<bool> reduced(static_cast<size_t>(x.rank()), axes.empty());
  for (int axis : axes) reduced[static_cast<size_t>(normalize_axis("sum", axis, x.rank()))] = true;
  for (int i = 0; i < x.rank(); ++i)
    if (!reduced[static_cast<size_t>(i)]) shape.push_back(x.shape()[i]);
  return reshape(y, shape);
}

Tensor mean(const Tensor& x, const std::vector<int>& axes, bool keep) {
  const Tensor total = sum(x, axes, keep);
  require<ShapeError>(x.count() > 0, "mean: expected at least one element, found shape {}",
                      x.shape());
  return total / (static_cast<double>(x.count()) / static_cast<double>(total.count()));
}

Tensor max(const Tensor& x, int axis, bool keep) {
  const Tensor values = largest("max", x, axis).values;
  return keep ? values : squeeze(values, axis);
}

Tensor argmax(const Tensor& x, int axis, bool keep) {
  const Tensor indices = largest("argmax", x.detach(), axis).indices;
  return keep ? indices : squeeze(indices, axis);
}

}  // namespace glassformer
