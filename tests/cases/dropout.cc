#include "glassformer/ops/dropout.h"

#include "support/op_case.h"

namespace glassformer::testing {

std::vector<OpCase> cases_dropout() {
  const auto with = [](double p) {
    return [p](const std::vector<Tensor>& in) {
      return std::vector{dropout(in[0], p, {.seed = 7, .stream = 3})};
    };
  };
  return {
      {.op = "dropout",
       .name = "tenth",
       .inputs = {{{3, 5, 7}}},
       .run = with(0.1),
       .bench_inputs = {{{4096, 4096}}}},
      {.op = "dropout", .name = "half", .inputs = {{{1031}}}, .run = with(0.5)},
      {.op = "dropout", .name = "none", .inputs = {{{33}}}, .run = with(0)},
      {.op = "dropout", .name = "all", .inputs = {{{33}}}, .run = with(1)},
      {.op = "dropout", .name = "several_blocks", .inputs = {{{5, 7001}}}, .run = with(0.3)},
      {.op = "dropout", .name = "one", .inputs = {{{1, 1}}}, .run = with(0.25)},
      {.op = "dropout", .name = "empty", .inputs = {{{0, 4}}}, .run = with(0.25)},
  };
}

}  // namespace glassformer::testing
