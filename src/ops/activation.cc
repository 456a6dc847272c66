#include "glassformer/ops/activation.h"

#include "glassformer/ops/view.h"
#include "kernels/activation.h"
#include "ops/common.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

// [..., width] as [rows, width] with neighbouring elements in a row; a view where there is one.
Tensor as_rows(const Tensor& x) {
  const int64_t width = x.rank() == 0 ? 1 : x.size(-1);
  const Tensor rows = reshape(x, {width == 0 ? 0 : x.count() / width, width});
  return width <= 1 || rows.strides()[1] == 1 ? rows : contiguous(rows);
}

struct Halves {
  Tensor gate, up;
};
// The halves of rows [rows, 2 * width], as views off the tape.
Halves halves_of(const Tensor& rows) {
  const int64_t width = rows.size(1) / 2;
  const Shape shape{rows.size(0), width};
  return {rows.view(shape, rows.strides(), rows.offset()),
          rows.view(shape, rows.strides(), rows.offset() + width)};
}

}  // namespace

Tensor activate(const Tensor& x_in, Activation activation) {
  const char* name = name_of(activation);
  check_floating(name, "x", x_in);
  if (activation == Activation::kNone) return x_in;
  const Tensor x = contiguous(x_in);
  Tensor y = empty_like(x);
  call(kActivate, x, y, activation);
  if (needs_grad(x))
    record(name, {x}, {y},
           [keep = SavedTensor(name, x), activation](const std::vector<Tensor>& dy) {
             const Tensor x = keep.get();
             Tensor dx = empty_like(x);
             call(kActivateBackward, x, contiguous(dy[0]), dx, activation);
             return std::vector{dx};
           });
  return y;
}

Tensor gated(const Tensor& gate_in, const Tensor& up_in, Activation activation) {
  check_floating("gated", "gate", gate_in);
  check_shape("gated", "up", up_in, gate_in.shape());
  check_same_device("gated", {{"gate", gate_in}, {"up", up_in}});
  check_same_dtype("gated", {{"gate", gate_in}, {"up", up_in}});
  const Tensor gate = as_rows(gate_in), up = as_rows(up_in);
  Tensor y = empty(gate.shape(), gate.options());
  call(kGated, gate, up, y, activation);
  if (needs_grad(gate) || needs_grad(up))
    record("gated", {gate, up}, {y},
           [keep_gate = SavedTensor("gated", gate), keep_up = SavedTensor("gated", up),
            need_gate = needs_grad(gate), need_up = needs_grad(up),
            activation](const std::vector<Tensor>& dy) {
             const Tensor gate = keep_gate.get(), up = keep_up.get();
             const Tensor dgate = need_gate ? empty_like(gate) : Tensor();
             const Tensor dup = need_up ? empty_like(up) : Tensor();
             call(kGatedBackward, gate, up, as_rows(dy[0]), dgate, dup, activation);
             return std::vector{dgate, dup};
           });
  return reshape(y, gate_in.shape());
}

Tensor gated_packed(const Tensor& x_in, Activation activation) {
  check_floating("gated_packed", "x", x_in);
  check_min_rank("gated_packed", "x", x_in, 1);
  require<ShapeError>(x_in.size(-1) % 2 == 0,
                      "gated_packed: expected x with an even last axis (gate, then up), found "
                      "shape {}",
                      x_in.shape());
  const Tensor x = as_rows(x_in);
  const Halves in = halves_of(x);
  Tensor y = empty(in.gate.shape(), x.options());
  call(kGated, in.gate, in.up, y, activation);
  if (needs_grad(x))
    record("gated_packed", {x}, {y},
           [keep = SavedTensor("gated_packed", x), activation](const std::vector<Tensor>& dy) {
             const Tensor x = keep.get();
             const Halves in = halves_of(x);
             Tensor dx = empty(x.shape(), x.options());
             const Halves out = halves_of(dx);
             call(kGatedBackward, in.gate, in.up, as_rows(dy[0]), out.gate, out.up, activation);
             return std::vector{dx};
           });
  return reshape(y, x_in.shape().with(x_in.rank() - 1, x_in.size(-1) / 2));
}

}  // namespace glassformer
