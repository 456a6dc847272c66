#include "glassformer/ops/update.h"

#include "glassformer/autograd/no_grad.h"
#include "kernels/update.h"
#include "ops/common.h"

namespace glassformer {
namespace {

void check_state(const char* op, const char* name, const Tensor& state, const Tensor& parameter) {
  check_shape(op, name, state, parameter.shape());
  check_dtype(op, name, state, accumulation_dtype(parameter.dtype()));
  require<ValueError>(state.is_contiguous(), "{}: expected {} contiguous", op, name);
}

void check_update(const char* op, const UpdateTensors& tensors, const UpdateCommon& update) {
  const auto& [parameter, gradient, master, first, second] = tensors;
  check_floating(op, "parameter", parameter);
  check_defined(op, "gradient", gradient);
  check_same_dtype(op, {{"parameter", parameter}, {"gradient", gradient}});
  check_same_device(op, {{"parameter", parameter},
                         {"gradient", gradient},
                         {"master", master},
                         {"first", first},
                         {"second", second}});
  check_shape(op, "gradient", gradient, parameter.shape());
  require<ValueError>(parameter.is_contiguous(), "{}: expected parameter contiguous", op);
  if (master.defined()) check_state(op, "master", master, parameter);
  if (first.defined()) check_state(op, "first", first, parameter);
  if (second.defined()) check_state(op, "second", second, parameter);
  require<ValueError>(
      !update.rounding || (parameter.dtype() == DType::kBFloat16 && !master.defined()),
      "{}: expected a bfloat16 parameter without a master to round by chance", op);
}

template <class Update, class Kernel>
void run(const char* op, const Kernel& kernel, const UpdateTensors& tensors, const Update& update) {
  const NoGrad no_grad;
  check_update(op, tensors, update);
  check_in_place(op, tensors.parameter);
  UpdateOperands operands{tensors};
  operands.of.gradient = contiguous(tensors.gradient);
  call(kernel, tensors.parameter, operands, update);
  for (const Tensor& changed : {tensors.parameter, tensors.master, tensors.first, tensors.second})
    if (changed.defined()) changed.storage()->bump_version();
}

}  // namespace

void sgd_update(const UpdateTensors& tensors, const SgdUpdate& update) {
  if (update.momentum != 0) check_defined("sgd_update", "first", tensors.first);
  run("sgd_update", kSgdUpdate, tensors, update);
}

void adam_update(const UpdateTensors& tensors, const AdamUpdate& update) {
  check_defined("adam_update", "first", tensors.first);
  check_defined("adam_update", "second", tensors.second);
  require<ValueError>(update.step >= 1, "adam_update: expected a step from 1, found {}",
                      update.step);
  run("adam_update", kAdamUpdate, tensors, update);
}

void lion_update(const UpdateTensors& tensors, const LionUpdate& update) {
  check_defined("lion_update", "first", tensors.first);
  run("lion_update", kLionUpdate, tensors, update);
}

double sum_of_squares(const Tensor& x) {
  check_floating("sum_of_squares", "x", x);
  const Tensor sum = empty({}, {DType::kFloat64, x.device()});
  call(kSumOfSquares, contiguous(x.detach()), sum);
  return sum.item();
}

}  // namespace glassformer
