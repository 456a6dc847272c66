#include "glassformer/ops/rotary.h"

#include "glassformer/ops/view.h"
#include "kernels/rotary.h"
#include "ops/common.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

constexpr const char* kOp = "apply_rotary";

void check_table(const Tensor& x, const RotaryTable& table) {
  check_same_device(kOp, {{"x", x}, {"table.cos", table.cos}, {"table.sin", table.sin}});
  check_rank(kOp, "table.cos", table.cos, 2);
  check_shape(kOp, "table.sin", table.sin, table.cos.shape());
  check_dtype(kOp, "table.cos", table.cos, accumulation_dtype(x.dtype()));
  check_dtype(kOp, "table.sin", table.sin, accumulation_dtype(x.dtype()));
  require<ShapeError>(2 * table.cos.size(1) <= x.size(3),
                      "{}: expected a table for at most {} elements, as x of shape {} has, found "
                      "one for {}",
                      kOp, x.size(3), x.shape(), 2 * table.cos.size(1));
}

// [B, T] int64, contiguous, or undefined where the positions follow the offset.
Tensor checked_positions(const Tensor& x, const RotaryTable& table, const RotaryOptions& options) {
  const int64_t batch = x.size(0), length = x.size(2);
  if (!options.positions.defined()) {
    require<IndexError>(options.offset >= 0 && options.offset <= table.cos.size(0) - length,
                        "{}: expected positions from 0 to {}, found {} of them from {} on", kOp,
                        table.cos.size(0) - 1, length, options.offset);
    return Tensor();
  }
  check_index_type(kOp, "positions", options.positions);
  check_same_device(kOp, {{"x", x}, {"positions", options.positions}});
  require<ValueError>(options.offset == 0, "{}: expected either positions or an offset, found both",
                      kOp);
  check_shape(kOp, "positions", options.positions,
              options.positions.rank() == 1 ? Shape{length} : Shape{batch, length});
  return contiguous(expand(cast(options.positions, DType::kInt64), {batch, length}));
}

// In memory like x: the heads of a token side by side, or the tokens of a head.
Tensor empty_in_order_of(const Tensor& x) {
  if (x.strides()[1] >= x.strides()[2]) return empty_like(x);
  const Shape tokens_first{x.size(0), x.size(2), x.size(1), x.size(3)};
  return transpose(empty(tokens_first, x.options()), 1, 2);
}

Tensor turn(const Tensor& x_in, const RotaryTable& table, const Tensor& positions,
            const RotaryStep& step) {
  const Tensor x = x_in.strides()[3] == 1 || x_in.size(3) == 1 ? x_in : contiguous(x_in);
  Tensor y = empty_in_order_of(x);
  call(kRotary, x, table.cos, table.sin, positions, y, step);
  return y;
}

}  // namespace

RotaryTable rotary_table(const RotaryFrequencies& frequencies, int64_t positions,
                         TensorOptions options) {
  require<ValueError>(positions >= 0, "rotary_table: expected positions of at least 0, found {}",
                      positions);
  require<DTypeError>(options.dtype == accumulation_dtype(options.dtype),
                      "rotary_table: expected dtype float32 or float64, found {}",
                      name_of(options.dtype));
  const auto pairs = static_cast<int64_t>(frequencies.inverse.size());
  RotaryTable table{empty({positions, pairs}, options), empty({positions, pairs}, options)};
  call(kRotaryTable, table.cos, table.sin,
       from_vector(frequencies.inverse, {pairs}, options.device), frequencies.attention_scaling);
  return table;
}

RotaryTable rotary_table(const RotarySpec& spec, int64_t positions, TensorOptions options,
                         std::optional<int64_t> length) {
  return rotary_table(rotary_frequencies(spec, length.value_or(positions)), positions, options);
}

Tensor apply_rotary(const Tensor& x, const RotaryTable& table_in, const RotaryOptions& options) {
  check_floating(kOp, "x", x);
  check_rank(kOp, "x", x, 4);
  check_table(x, table_in);
  const Tensor positions = checked_positions(x, table_in, options);
  const RotaryTable table{contiguous(off_tape(table_in.cos)), contiguous(off_tape(table_in.sin))};
  RotaryStep step{options.layout == RotaryOptions::Layout::kInterleaved, false, options.offset};
  Tensor y = turn(x, table, positions, step);
  if (needs_grad(x)) {
    step.backward = true;
    record(kOp, {x}, {y},
           [cos = SavedTensor(kOp, table.cos), sin = SavedTensor(kOp, table.sin),
            keep_positions = SavedTensor(kOp, positions), step](const std::vector<Tensor>& dy) {
             return std::vector{turn(dy[0], {cos.get(), sin.get()}, keep_positions.get(), step)};
           });
  }
  return y;
}

}  // namespace glassformer
