#include "glassformer/ops/softmax.h"

#include "support/op_case.h"

namespace glassformer::testing {

std::vector<OpCase> cases_softmax() {
  const auto rows = [](const std::vector<Tensor>& in) { return std::vector{softmax(in[0])}; };
  const auto log_rows = [](const std::vector<Tensor>& in) {
    return std::vector{log_softmax(in[0])};
  };
  const auto middle = [](const std::vector<Tensor>& in) { return std::vector{softmax(in[0], 1)}; };
  return {
      {.op = "softmax",
       .name = "rows",
       .inputs = {{{5, 33}}},
       .run = rows,
       .bench_inputs = {{{16384, 1024}}}},
      {.op = "softmax", .name = "one_column", .inputs = {{{4, 1}}}, .run = rows},
      {.op = "softmax", .name = "several_blocks", .inputs = {{{2, 8199}}}, .run = rows},
      {.op = "softmax", .name = "middle_axis", .inputs = {{{2, 7, 3}}}, .run = middle},
      {.op = "softmax", .name = "no_rows", .inputs = {{{0, 7}}}, .run = rows},
      {.op = "log_softmax",
       .name = "rows",
       .inputs = {{{5, 47}}},
       .run = log_rows,
       .bench_inputs = {{{8192, 1024}}}},
      {.op = "log_softmax",
       .name = "several_blocks",
       .inputs = {{{2, 8199}}},
       .run = log_rows,
       .bench_inputs = {{{512, 50257}}}},
  };
}

}  // namespace glassformer::testing
