#include "glassformer/ops/linear.h"

#include "glassformer/ops/activation.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"
#include "kernels/activation.h"
#include "kernels/quantised.h"
#include "ops/common.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

// float16 is a storage type where its device has no product of it: float32 does the work.
bool needs_float32(const Tensor& x) {
  return x.dtype() == DType::kFloat16 && !is_supported(kMatmul, x.device(), x.dtype());
}
Tensor widened(const Tensor& x) { return x.defined() ? cast(x, DType::kFloat32) : x; }

Shape with_last(const Shape& shape, int64_t size) { return shape.with(shape.rank() - 1, size); }

// [..., width] as [rows, width].
Tensor as_rows(const Tensor& x) {
  const int64_t width = x.size(-1);
  int64_t rows = 1;
  for (int i = 0; i + 1 < x.rank(); ++i) rows *= x.shape()[i];
  return reshape(x, {rows, width});
}

void check_linear(const Tensor& x, int64_t in, int64_t out, const Tensor& bias,
                  const LinearOptions& options) {
  check_min_rank("linear", "x", x, 1);
  check_shape("linear", "x", x, with_last(x.shape(), in));
  check_same_device("linear", {{"x", x}, {"bias", bias}, {"residual", options.residual}});
  check_same_dtype("linear", {{"x", x}, {"bias", bias}, {"residual", options.residual}});
  if (bias.defined()) check_shape("linear", "bias", bias, {out});
  if (options.residual.defined())
    check_shape("linear", "residual", options.residual, with_last(x.shape(), out));
}

LinearEpilogue epilogue_of(const Tensor& bias, const LinearOptions& options) {
  LinearEpilogue epilogue;
  epilogue.activation = options.activation;
  if (bias.defined()) epilogue.bias = contiguous(off_tape(bias));
  if (options.residual.defined())
    epilogue.residual = as_rows(contiguous(off_tape(options.residual)));
  return epilogue;
}

// a · b for rows: [m, k] · [k, n], off the tape.
Tensor product(const Tensor& a, const Tensor& b) {
  Tensor y = empty({a.size(0), b.size(1)}, a.options());
  call(kMatmul, unsqueeze(a, 0), unsqueeze(b, 0), unsqueeze(y, 0));
  return y;
}

const QuantisedOperand& operand_of(const PackedWeight& weight) {
  return *static_cast<const QuantisedOperand*>(weight.data().get());
}

Tensor packed_layer(const Tensor& x, const PackedWeight& weight, const Tensor& bias,
                    const LinearOptions& options) {
  const Tensor rows = as_rows(x);
  Tensor y = empty({rows.size(0), weight.out()}, x.options());
  if (weight.quantised())
    call(kLinearQuantised, contiguous(rows), operand_of(weight), y, epilogue_of(bias, options));
  else
    call(kLinearPacked, rows, weight.data(), y, epilogue_of(bias, options));
  return reshape(y, with_last(x.shape(), weight.out()));
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_floating("matmul", "a", a);
  check_same_device("matmul", {{"a", a}, {"b", b}});
  check_same_dtype("matmul", {{"a", a}, {"b", b}});
  check_min_rank("matmul", "a", a, 2);
  check_min_rank("matmul", "b", b, 2);
  require<ShapeError>(a.size(-1) == b.size(-2),
                      "matmul: expected b with {} rows for a of shape {}, found shape {}",
                      a.size(-1), a.shape(), b.shape());
  if (needs_float32(a)) return cast(matmul(widened(a), widened(b)), a.dtype());
  const auto leading = [](const Tensor& x) {
    return x.shape().without(x.rank() - 1).without(x.rank() - 2);
  };
  Shape shape = broadcast_shapes("matmul", leading(a), leading(b));
  const int64_t batches = count_of(shape);
  const auto batched = [&](const Tensor& x) {
    Shape whole = shape;
    whole.push_back(x.size(-2));
    whole.push_back(x.size(-1));
    return reshape(expand(x, whole), {batches, x.size(-2), x.size(-1)});
  };
  const Tensor left = batched(a), right = batched(b);
  Tensor y = empty({batches, a.size(-2), b.size(-1)}, a.options());
  call(kMatmul, left, right, y);
  if (needs_grad(left) || needs_grad(right))
    record("matmul", {left, right}, {y},
           [keep_left = SavedTensor("matmul", left), keep_right = SavedTensor("matmul", right),
            need_left = needs_grad(left),
            need_right = needs_grad(right)](const std::vector<Tensor>& dy) {
             const Tensor left = keep_left.get(), right = keep_right.get();
             return std::vector{need_left ? matmul(dy[0], transpose(right, 1, 2)) : Tensor(),
                                need_right ? matmul(transpose(left, 1, 2), dy[0]) : Tensor()};
           });
  shape.push_back(a.size(-2));
  shape.push_back(b.size(-1));
  return reshape(y, shape);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const LinearOptions& options) {
  check_floating("linear", "x", x);
  check_rank("linear", "weight", weight, 2);
  check_same_device("linear", {{"x", x}, {"weight", weight}});
  check_same_dtype("linear", {{"x", x}, {"weight", weight}});
  check_linear(x, weight.size(1), weight.size(0), bias, options);
  if (needs_float32(x))
    return cast(linear(widened(x), widened(weight), widened(bias),
                       {options.activation, widened(options.residual)}),
                x.dtype());
  const Tensor rows = as_rows(x);
  Tensor y = empty({rows.size(0), weight.size(0)}, x.options());
  LinearEpilogue epilogue = epilogue_of(bias, options);
  const Activation activation = options.activation;
  const bool recorded =
      needs_grad(x) || needs_grad(weight) || needs_grad(bias) || needs_grad(options.residual);
  if (recorded && activation != Activation::kNone) epilogue.pre_activation = empty_like(y);
  call(kLinear, rows, weight, y, epilogue);
  if (recorded) {
    const Tensor residual = options.residual.defined() ? as_rows(options.residual) : Tensor();
    record("linear", {rows, weight, bias, residual}, {y},
           [keep_x = SavedTensor("linear", rows), keep_weight = SavedTensor("linear", weight),
            keep_z = SavedTensor("linear", epilogue.pre_activation), activation,
            need_x = needs_grad(rows), need_weight = needs_grad(weight),
            need_bias = needs_grad(bias)](const std::vector<Tensor>& dy) {
             Tensor dz = dy[0];
             if (activation != Activation::kNone) {
               dz = empty_like(dy[0]);
               call(kActivateBackward, keep_z.get(), contiguous(dy[0]), dz, activation);
             }
             const Tensor x = keep_x.get(), weight = keep_weight.get();
             return std::vector{
                 need_x ? product(dz, weight) : Tensor(),
                 need_weight ? product(transpose(dz, 0, 1), x) : Tensor(),
                 need_bias ? reshape(sum_to(dz, {1, dz.size(1)}), {dz.size(1)}) : Tensor(), dy[0]};
           });
  }
  return reshape(y, with_last(x.shape(), weight.size(0)));
}

PackedWeight::PackedWeight(const QuantisedTensor& weight, DType dtype, bool int8_activations)
    : in_(weight.columns), out_(weight.rows), quantised_(true), options_{dtype, Device::kCpu} {
  check_quantised(weight, "PackedWeight");
  options_.device = weight.device();
  PackedData packed;
  call(kPackQuantised, weight.codes, weight, packed);
  data_ = std::make_shared<QuantisedOperand>(QuantisedOperand{{packed}, int8_activations});
}

PackedWeight PackedWeight::joined(const std::vector<const PackedWeight*>& parts) {
  require<ValueError>(!parts.empty(), "PackedWeight::joined: expected parts, found none");
  PackedWeight whole = *parts.front();
  whole.out_ = 0;
  QuantisedOperand operand;
  for (const PackedWeight* part : parts) {
    require<ValueError>(part->quantised_ && part->options_.device == whole.options_.device &&
                            part->options_.dtype == whole.options_.dtype,
                        "PackedWeight::joined: expected quantised weights of one dtype and device");
    require<ShapeError>(part->in_ == whole.in_,
                        "PackedWeight::joined: expected weights for x of {}, found one for {}",
                        whole.in_, part->in_);
    const QuantisedOperand& own = operand_of(*part);
    operand.parts.insert(operand.parts.end(), own.parts.begin(), own.parts.end());
    operand.int8_activations = own.int8_activations;
    whole.out_ += part->out_;
  }
  whole.data_ = std::make_shared<QuantisedOperand>(std::move(operand));
  return whole;
}

PackedWeight::PackedWeight(const Tensor& weight) : PackedWeight(weight, weight.dtype()) {}

PackedWeight::PackedWeight(const Tensor& weight, DType dtype) {
  check_floating("PackedWeight", "weight", weight);
  check_rank("PackedWeight", "weight", weight, 2);
  in_ = weight.size(1);
  out_ = weight.size(0);
  options_ = {dtype, weight.device()};
  const bool stored = dtype == DType::kFloat16;  // float32 does the work where it is only stored
  const DType work =
      stored && !is_supported(kMatmul, weight.device(), dtype) ? DType::kFloat32 : dtype;
  // bfloat16 is widened on its way into the packed form: no second matrix is held.
  const bool widens = work == DType::kFloat32 && weight.dtype() == DType::kBFloat16 &&
                      is_supported(kPackWeight, weight.device(), DType::kBFloat16);
  PackedData data;
  call(kPackWeight, widens ? weight.detach() : cast(weight.detach(), work), work, data);
  data_ = data;
}

Tensor linear(const Tensor& x, const PackedWeight& weight, const Tensor& bias,
              const LinearOptions& options) {
  check_floating("linear", "x", x);
  check_dtype("linear", "x", x, weight.options().dtype);
  require<DeviceError>(x.device() == weight.options().device,
                       "linear: expected x on device {} like the packed weight, found it on {}",
                       name_of(weight.options().device), name_of(x.device()));
  check_linear(x, weight.in(), weight.out(), bias, options);
  require<AutogradError>(
      !needs_grad(x) && !needs_grad(bias) && !needs_grad(options.residual),
      "linear: expected no gradient through a packed weight; use the weight itself, or NoGrad");
  if (needs_float32(x))
    return cast(packed_layer(widened(x), weight, widened(bias),
                             {options.activation, widened(options.residual)}),
                x.dtype());
  return packed_layer(x, weight, bias, options);
}

}  // namespace glassformer
