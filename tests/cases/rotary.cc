#include "glassformer/ops/rotary.h"

#include "support/op_case.h"

namespace glassformer::testing {
namespace {

// The table on x's device, of the type that goes with x's.
RotaryTable table_for(const Tensor& x, int64_t dim, int64_t positions) {
  const DType dtype = x.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  return rotary_table(RotarySpec{.dim = dim}, positions, {dtype, x.device()});
}

}  // namespace

std::vector<OpCase> cases_rotary() {
  using In = std::vector<Tensor>;
  constexpr auto kInterleaved = RotaryOptions::Layout::kInterleaved;
  const auto half = [](const In& in) {
    const Tensor& x = in[0];
    return std::vector{apply_rotary(x, table_for(x, x.size(-1), x.size(2)))};
  };
  // As attention gives it: [B, T, H, D] seen as [B, H, T, D].
  const auto tokens_first = [](const In& in) {
    const Tensor x = transpose(in[0], 1, 2);
    return std::vector{apply_rotary(x, table_for(x, x.size(-1), x.size(2)))};
  };
  const auto interleaved = [](const In& in) {
    const Tensor& x = in[0];
    return std::vector{
        apply_rotary(x, table_for(x, x.size(-1), x.size(2) + 3), {kInterleaved, {}, 3})};
  };
  const auto partial = [](const In& in) {
    return std::vector{apply_rotary(in[0], table_for(in[0], 6, 9), {.positions = in[1]})};
  };
  const auto partial_interleaved = [](const In& in) {
    return std::vector{
        apply_rotary(in[0], table_for(in[0], 6, 9), {kInterleaved, cast(in[1], DType::kInt32)})};
  };
  return {
      {.op = "apply_rotary", .name = "half", .inputs = {{{2, 3, 5, 50}}}, .run = half},
      {.op = "apply_rotary",
       .name = "tokens_first",
       .inputs = {{{2, 5, 3, 64}}},
       .run = tokens_first,
       .bench_inputs = {{{8, 1024, 16, 64}}}},
      {.op = "apply_rotary",
       .name = "interleaved",
       .inputs = {{{2, 3, 5, 54}}},
       .run = interleaved,
       .bench_inputs = {{{8, 16, 1024, 64}}}},
      {.op = "apply_rotary",
       .name = "partial",
       .inputs = {{{2, 1, 4, 11}}, {{2, 4}, Values::kIds, 9}},
       .run = partial},
      {.op = "apply_rotary",
       .name = "partial_interleaved",
       .inputs = {{{2, 2, 4, 7}}, {{4}, Values::kIds, 9}},
       .run = partial_interleaved},
      {.op = "apply_rotary", .name = "no_tokens", .inputs = {{{2, 3, 0, 8}}}, .run = half},
  };
}

}  // namespace glassformer::testing
