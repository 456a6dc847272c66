#include "glassformer/ops/norm.h"

#include <cmath>

#include "glassformer/ops/view.h"
#include "kernels/norm.h"
#include "ops/common.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

// x with what is normalised as its last axis.
Tensor as_rows(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias,
               double epsilon, int axes) {
  check_floating(op, "x", x);
  check_same_device(op, {{"x", x}, {"weight", weight}, {"bias", bias}});
  check_same_dtype(op, {{"x", x}, {"weight", weight}, {"bias", bias}});
  require<ValueError>(epsilon >= 0 && std::isfinite(epsilon),
                      "{}: expected an epsilon of at least 0, found {}", op, epsilon);
  require<ShapeError>(axes >= 1 && axes <= x.rank(),
                      "{}: expected from 1 to {} axes for x of shape {}, found {}", op, x.rank(),
                      x.shape(), axes);
  Shape normalized;
  for (int axis = x.rank() - axes; axis < x.rank(); ++axis) normalized.push_back(x.shape()[axis]);
  const int64_t width = count_of(normalized);
  require<ShapeError>(width > 0, "{}: expected elements to normalise over in x, found shape {}", op,
                      x.shape());
  if (weight.defined()) check_shape(op, "weight", weight, normalized);
  if (bias.defined()) check_shape(op, "bias", bias, normalized);
  const Tensor rows = contiguous(x);
  return axes == 1 ? rows : reshape(rows, {x.count() / width, width});
}

Tensor as_row(const Tensor& vector) {
  return vector.defined() ? reshape(contiguous(vector), {-1}) : Tensor();
}

// A number for each row of x.
Tensor empty_statistic(const Tensor& x) {
  return empty({x.count() / x.size(-1)}, {accumulation_dtype(x.dtype()), x.device()});
}

// mean and rstd [rows] are there where the tape needs them, or they are asked for.
LayerNormResult run_layer_norm(const Tensor& x_in, const Tensor& weight_in, const Tensor& bias_in,
                               double epsilon, int axes, bool statistics) {
  constexpr const char* kOp = "layer_norm";
  const Tensor x = as_rows(kOp, x_in, weight_in, bias_in, epsilon, axes);
  const Tensor weight = as_row(weight_in), bias = as_row(bias_in);
  const bool need_weight = needs_grad(weight), need_bias = needs_grad(bias);
  const bool recorded = needs_grad(x) || need_weight || need_bias;
  Tensor y = empty_like(x), mean, rstd;
  if (recorded || statistics) mean = empty_statistic(x), rstd = empty_like(mean);
  call(kLayerNorm, x, weight, bias, y, mean, rstd, epsilon);
  if (recorded)
    record(kOp, {x, weight, bias}, {y},
           [keep_x = SavedTensor(kOp, x), keep_weight = SavedTensor(kOp, weight), mean, rstd,
            need_x = needs_grad(x), need_weight, need_bias](const std::vector<Tensor>& dy) {
             const Tensor x = keep_x.get(), weight = keep_weight.get();
             const Tensor row = empty({x.size(-1)}, x.options());
             Tensor dx = empty_if(need_x, x);
             Tensor dweight = empty_if(need_weight, row), dbias = empty_if(need_bias, row);
             call(kLayerNormBackward, contiguous(dy[0]), x, weight, mean, rstd, dx, dweight, dbias);
             return std::vector{dx, dweight, dbias};
           });
  return {reshape(y, x_in.shape()), mean, rstd};
}

}  // namespace

LayerNormResult layer_norm_with_statistics(const Tensor& x, const Tensor& weight,
                                           const Tensor& bias, double epsilon, int axes) {
  LayerNormResult result = run_layer_norm(x, weight, bias, epsilon, axes, /*statistics=*/true);
  Shape per_row = x.shape();
  for (int axis = x.rank() - axes; axis < x.rank(); ++axis) per_row[axis] = 1;
  result.mean = reshape(result.mean, per_row), result.rstd = reshape(result.rstd, per_row);
  return result;
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon,
                  int axes) {
  return run_layer_norm(x, weight, bias, epsilon, axes, /*statistics=*/false).output;
}

Tensor rms_norm(const Tensor& x_in, const Tensor& weight_in, double epsilon, int axes) {
  constexpr const char* kOp = "rms_norm";
  const Tensor x = as_rows(kOp, x_in, weight_in, Tensor(), epsilon, axes);
  const Tensor weight = as_row(weight_in);
  const bool need_weight = needs_grad(weight), recorded = needs_grad(x) || need_weight;
  Tensor y = empty_like(x);
  const Tensor rstd = recorded ? empty_statistic(x) : Tensor();
  call(kRmsNorm, x, weight, y, rstd, epsilon);
  if (recorded)
    record(kOp, {x, weight}, {y},
           [keep_x = SavedTensor(kOp, x), keep_weight = SavedTensor(kOp, weight), rstd,
            need_x = needs_grad(x), need_weight](const std::vector<Tensor>& dy) {
             const Tensor x = keep_x.get(), weight = keep_weight.get();
             Tensor dx = empty_if(need_x, x);
             Tensor dweight = empty_if(need_weight, weight);
             call(kRmsNormBackward, contiguous(dy[0]), x, weight, rstd, dx, dweight);
             return std::vector{dx, dweight};
           });
  return reshape(y, x_in.shape());
}

}  // namespace glassformer
