#include "glassformer/ops/copy.h"

#include "glassformer/ops/view.h"
#include "support/op_case.h"

namespace glassformer::testing {

std::vector<OpCase> cases_copy() {
  const auto permuted = [](std::vector<int> axes) {
    return [axes](const std::vector<Tensor>& in) {
      return std::vector{contiguous(permute(in[0], axes))};
    };
  };
  const auto repeated = [](const std::vector<Tensor>& in) {
    return std::vector{contiguous(expand(in[0], {3, 5, 7}))};
  };
  const auto copied = [](const std::vector<Tensor>& in) { return std::vector{clone(in[0])}; };
  const auto every_third = [](const std::vector<Tensor>& in) {
    return std::vector{contiguous(slice(in[0], 1, 1, 40, 3))};
  };
  return {
      {.op = "copy",
       .name = "clone",
       .inputs = {{{5, 33}}},
       .run = copied,
       .bench_inputs = {{{4096, 4096}}}},
      {.op = "copy",
       .name = "transpose",
       .inputs = {{{67, 83}}},
       .run = permuted({1, 0}),
       .bench_inputs = {{{4096, 4096}}}},
      {.op = "copy", .name = "transpose_small", .inputs = {{{3, 5}}}, .run = permuted({1, 0})},
      {.op = "copy", .name = "transpose_aligned", .inputs = {{{64, 128}}}, .run = permuted({1, 0})},
      {.op = "copy",
       .name = "heads",
       .inputs = {{{2, 5, 3, 8}}},
       .run = permuted({0, 2, 1, 3}),
       .bench_inputs = {{{8, 1024, 32, 64}}}},
      {.op = "copy",
       .name = "swap_last",
       .inputs = {{{2, 3, 33, 20}}},
       .run = permuted({0, 1, 3, 2}),
       .bench_inputs = {{{8, 32, 1024, 64}}}},
      {.op = "copy",
       .name = "reversed",
       .inputs = {{{3, 17, 2, 35}}},
       .run = permuted({3, 2, 1, 0})},
      {.op = "copy", .name = "expanded_row", .inputs = {{{7}}}, .run = repeated},
      {.op = "copy", .name = "expanded_column", .inputs = {{{5, 1}}}, .run = repeated},
      {.op = "copy", .name = "every_third", .inputs = {{{4, 41}}}, .run = every_third},
      {.op = "copy", .name = "empty", .inputs = {{{0, 3}}}, .run = permuted({1, 0})},
      {.op = "copy", .name = "scalar", .inputs = {{{}}}, .run = copied},
  };
}

}  // namespace glassformer::testing
