#include "ops/common.h"

#include "glassformer/autograd/no_grad.h"
#include "tensor/shape_format.h"

namespace glassformer {

void check_defined(const char* op, const char* argument, const Tensor& x) {
  require<ValueError>(x.defined(), "{}: expected a tensor for {}, found none", op, argument);
}

void check_floating(const char* op, const char* argument, const Tensor& x) {
  check_defined(op, argument, x);
  require<DTypeError>(is_floating(x.dtype()), "{}: expected {} of a floating-point dtype, found {}",
                      op, argument, name_of(x.dtype()));
}

void check_index_type(const char* op, const char* argument, const Tensor& x) {
  check_defined(op, argument, x);
  require<DTypeError>(x.dtype() == DType::kInt64 || x.dtype() == DType::kInt32,
                      "{}: expected {} of dtype int64 or int32, found {}", op, argument,
                      name_of(x.dtype()));
}

void check_rank(const char* op, const char* argument, const Tensor& x, int rank) {
  check_defined(op, argument, x);
  require<ShapeError>(x.rank() == rank, "{}: expected {} of rank {}, found shape {}", op, argument,
                      rank, x.shape());
}

void check_min_rank(const char* op, const char* argument, const Tensor& x, int rank) {
  check_defined(op, argument, x);
  require<ShapeError>(x.rank() >= rank, "{}: expected {} of rank {} or more, found shape {}", op,
                      argument, rank, x.shape());
}

void check_shape(const char* op, const char* argument, const Tensor& x, const Shape& expected) {
  check_defined(op, argument, x);
  require<ShapeError>(x.shape() == expected, "{}: expected {} of shape {}, found {}", op, argument,
                      expected, x.shape());
}

void check_dtype(const char* op, const char* argument, const Tensor& x, DType expected) {
  check_defined(op, argument, x);
  require<DTypeError>(x.dtype() == expected, "{}: expected {} of dtype {}, found {}", op, argument,
                      name_of(expected), name_of(x.dtype()));
}

void check_same_device(const char* op, NamedTensors tensors) {
  const auto& [first_name, first] = *tensors.begin();
  check_defined(op, first_name, first);
  for (const auto& [name, x] : tensors)
    require<DeviceError>(!x.defined() || x.device() == first.device(),
                         "{}: expected {} on device {} like {}, found it on {}", op, name,
                         name_of(first.device()), first_name,
                         x.defined() ? name_of(x.device()) : "");
}

void check_same_dtype(const char* op, NamedTensors tensors) {
  const auto& [first_name, first] = *tensors.begin();
  check_defined(op, first_name, first);
  for (const auto& [name, x] : tensors)
    require<DTypeError>(!x.defined() || x.dtype() == first.dtype(),
                        "{}: expected {} of dtype {} like {}, found {}", op, name,
                        name_of(first.dtype()), first_name, x.defined() ? name_of(x.dtype()) : "");
}

void check_in_place(const char* op, const Tensor& into) {
  check_defined(op, "into", into);
  require<ValueError>(into.storage()->writable(),
                      "{}: expected memory that can be written, found a mapped file", op);
  require<AutogradError>(!grad_enabled() || !into.requires_grad(),
                         "{}: expected a tensor that requires no gradient, or a NoGrad scope, for "
                         "an in-place change",
                         op);
}

}  // namespace glassformer
