#include "glassformer/ops/softmax.h"

#include "glassformer/ops/view.h"
#include "kernels/softmax.h"
#include "ops/common.h"

namespace glassformer {
namespace {

using Forward = Kernel<void(const Tensor&, const Tensor&)>;
using Backward = Kernel<void(const Tensor&, const Tensor&, const Tensor&)>;

// Both forms have the same shape of rule: forward from x, backward from y.
Tensor along_rows(const Forward& forward, const Backward& backward, const Tensor& x_in) {
  const Tensor x = contiguous(x_in);
  Tensor y = empty_like(x);
  call(forward, x, y);
  if (needs_grad(x))
    record(forward.name, {x}, {y},
           [&backward, saved = SavedTensor(forward.name, y)](const std::vector<Tensor>& dy) {
             const Tensor y = saved.get();
             Tensor dx = empty_like(y);
             call(backward, y, contiguous(dy[0]), dx);
             return std::vector{dx};
           });
  return y;
}

Tensor along_axis(const Forward& forward, const Backward& backward, const Tensor& x, int axis) {
  check_floating(forward.name, "x", x);
  if (x.rank() == 0) return along_rows(forward, backward, x);
  axis = normalize_axis(forward.name, axis, x.rank());
  if (axis == x.rank() - 1) return along_rows(forward, backward, x);
  return transpose(along_rows(forward, backward, transpose(x, axis, -1)), axis, -1);
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
  return along_axis(kSoftmax, kSoftmaxBackward, x, axis);
}

Tensor log_softmax(const Tensor& x, int axis) {
  return along_axis(kLogSoftmax, kLogSoftmaxBackward, x, axis);
}

}  // namespace glassformer
