#include "glassformer/ops/batch_norm.h"

#include <cmath>

#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/view.h"
#include "kernels/batch_norm.h"
#include "ops/common.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

constexpr const char* kOp = "batch_norm";

void check_statistics(const char* argument, const Tensor& running, const Tensor& x, bool training) {
  if (!running.defined() && training) return;
  check_shape(kOp, argument, running, {x.size(1)});
  check_dtype(kOp, argument, running, accumulation_dtype(x.dtype()));
  if (training) check_in_place(kOp, running);
}

void check(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
           const Tensor& running_var, const BatchNormOptions& options) {
  check_floating(kOp, "x", x);
  check_min_rank(kOp, "x", x, 2);
  check_same_device(kOp, {{"x", x},
                          {"weight", weight},
                          {"bias", bias},
                          {"running_mean", running_mean},
                          {"running_var", running_var}});
  check_same_dtype(kOp, {{"x", x}, {"weight", weight}, {"bias", bias}});
  if (weight.defined()) check_shape(kOp, "weight", weight, {x.size(1)});
  if (bias.defined()) check_shape(kOp, "bias", bias, {x.size(1)});
  check_statistics("running_mean", running_mean, x, options.training);
  check_statistics("running_var", running_var, x, options.training);
  require<ValueError>(options.epsilon >= 0 && std::isfinite(options.epsilon),
                      "{}: expected an epsilon of at least 0, found {}", kOp, options.epsilon);
  require<ValueError>(options.momentum >= 0 && options.momentum <= 1,
                      "{}: expected a momentum from 0 to 1, found {}", kOp, options.momentum);
  require<ShapeError>(!options.training || x.size(1) == 0 || x.count() / x.size(1) > 1,
                      "{}: expected two elements a channel or more in training, found x of shape "
                      "{}",
                      kOp, x.shape());
}

// running += momentum (batch - running)
void track(const Tensor& running, const Tensor& batch, double momentum, double correction) {
  if (!running.defined()) return;
  scale_(running, 1 - momentum);
  add_(running, affine(batch, momentum * correction, 0));
}

}  // namespace

Tensor batch_norm(const Tensor& x_in, const Tensor& weight_in, const Tensor& bias_in,
                  const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormOptions& options) {
  check(x_in, weight_in, bias_in, running_mean, running_var, options);
  const int64_t channels = x_in.size(1);
  const Tensor x = reshape(contiguous(x_in),
                           {x_in.size(0), channels, count_of(x_in.shape().without(0).without(0))});
  const Tensor weight = weight_in.defined() ? contiguous(weight_in) : Tensor();
  const Tensor bias = bias_in.defined() ? contiguous(bias_in) : Tensor();
  const Tensor rstd = empty({channels}, {accumulation_dtype(x.dtype()), x.device()});
  Tensor mean, variance;
  if (options.training) {
    mean = empty_like(rstd);
    variance = empty_like(rstd);
    call(kBatchNormStatistics, x, mean, variance);
    const auto count = static_cast<double>(channels == 0 ? 2 : x.count() / channels);
    track(running_mean, mean, options.momentum, 1);
    track(running_var, variance, options.momentum, count / (count - 1));
  } else {
    mean = clone(running_mean.detach());  // the backward must not see what training makes of it
    variance = contiguous(running_var.detach());
  }
  Tensor y = empty_like(x);
  call(kBatchNorm, x, weight, bias, mean, variance, y, rstd, options.epsilon);
  if (needs_grad(x) || needs_grad(weight) || needs_grad(bias))
    record(kOp, {x, weight, bias}, {y},
           [keep_x = SavedTensor(kOp, x), keep_weight = SavedTensor(kOp, weight), mean, rstd,
            need_x = needs_grad(x), need_weight = needs_grad(weight), need_bias = needs_grad(bias),
            training = options.training](const std::vector<Tensor>& dy) {
             const Tensor x = keep_x.get(), weight = keep_weight.get();
             const Tensor channel = empty({x.size(1)}, x.options());
             const Tensor dx = empty_if(need_x, x), dweight = empty_if(need_weight, channel),
                          dbias = empty_if(need_bias, channel);
             call(kBatchNormBackward, contiguous(dy[0]), x, weight, mean, rstd, dx, dweight, dbias,
                  training);
             return std::vector{dx, dweight, dbias};
           });
  return reshape(y, x_in.shape());
}

}  // namespace glassformer
