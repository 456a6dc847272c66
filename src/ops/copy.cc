#include "glassformer/ops/copy.h"

#include "kernels/copy.h"
#include "kernels/strided_loop.h"
#include "ops/common.h"

namespace glassformer {

Tensor to(const Tensor& x, Device device) {
  check_defined("to", "x", x);
  if (x.device() == device) return x;
  const Tensor from = contiguous(x.detach());
  Tensor y = empty(x.shape(), {x.dtype(), device});
  const size_t bytes = static_cast<size_t>(x.count()) * size_of(x.dtype());
  const size_t start = static_cast<size_t>(from.offset()) * size_of(x.dtype());
  if (device == Device::kCpu) {
    from.storage()->copy_out(y.storage()->data(), start, bytes);
  } else if (x.device() == Device::kCpu) {
    y.storage()->copy_in(0, from.storage()->data() + start, bytes);
  } else {
    return to(to(x, Device::kCpu), device);
  }
  record("to", {x}, {y}, [home = x.device()](const std::vector<Tensor>& dy) {
    return std::vector{to(dy[0], home)};
  });
  return y;
}

Tensor cast(const Tensor& x, DType dtype) {
  check_defined("cast", "x", x);
  if (x.dtype() == dtype) return x;
  Tensor y = empty(x.shape(), {dtype, x.device()});
  call(kCopy, x, y);
  if (is_floating(dtype))
    record("cast", {x}, {y}, [back = x.dtype()](const std::vector<Tensor>& dy) {
      return std::vector{cast(dy[0], back)};
    });
  return y;
}

Tensor contiguous(const Tensor& x) {
  check_defined("contiguous", "x", x);
  return x.is_contiguous() ? x : clone(x);
}

Tensor clone(const Tensor& x) {
  check_defined("clone", "x", x);
  Tensor y = empty_like(x);
  call(kCopy, x, y);
  record("clone", {x}, {y}, [](const std::vector<Tensor>& dy) { return dy; });
  return y;
}

void copy_(const Tensor& into, const Tensor& from) {
  check_in_place("copy_", into);
  check_same_device("copy_", {{"into", into}, {"from", from}});
  const Shape both = broadcast_shapes("copy_", into.shape(), from.shape());
  check_shape("copy_", "into", into, both);
  call(kCopy, from.view(both, broadcast_strides(from, both), from.offset()), into);
  into.storage()->bump_version();
}

void fill_(const Tensor& into, double value) {
  check_in_place("fill_", into);
  call(kFill, into, value);
  into.storage()->bump_version();
}

}  // namespace glassformer
