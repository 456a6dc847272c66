#include "glassformer/ops/norm.h"

#include "support/op_case.h"

namespace glassformer::testing {

std::vector<OpCase> cases_norm() {
  using In = std::vector<Tensor>;
  const auto affine = [](const In& in) { return std::vector{layer_norm(in[0], in[1], in[2])}; };
  const auto scaled = [](const In& in) { return std::vector{layer_norm(in[0], in[1], {}, 1e-12)}; };
  const auto plain = [](const In& in) { return std::vector{layer_norm(in[0])}; };
  const auto shifted = [](const In& in) {
    return std::vector{layer_norm(in[0], {}, in[1], 1e-5, 2)};
  };
  const auto rms = [](const In& in) { return std::vector{rms_norm(in[0], in[1])}; };
  const auto rms_plain = [](const In& in) { return std::vector{rms_norm(in[0], {}, 1e-5, 2)}; };
  const Input weight_37{{37}, Values::kPositive}, weight_1024{{1024}, Values::kPositive};
  return {
      {.op = "layer_norm",
       .name = "affine",
       .inputs = {{{3, 5, 37}}, weight_37, {{37}}},
       .run = affine,
       .bench_inputs = {{{8192, 1024}}, weight_1024, {{1024}}}},
      {.op = "layer_norm",
       .name = "many_rows",
       .inputs = {{{301, 19}}, {{19}}, {{19}}},
       .run = affine},
      {.op = "layer_norm",
       .name = "wide",
       .inputs = {{{2, 1030}}, {{1030}}, {{1030}}},
       .run = affine},
      {.op = "layer_norm", .name = "scaled", .inputs = {{{4, 16}}, {{16}}}, .run = scaled},
      {.op = "layer_norm", .name = "plain", .inputs = {{{4, 7}}}, .run = plain},
      {.op = "layer_norm", .name = "one_column", .inputs = {{{4, 1}}}, .run = plain},
      {.op = "layer_norm", .name = "two_axes", .inputs = {{{3, 4, 5}}, {{4, 5}}}, .run = shifted},
      {.op = "layer_norm", .name = "no_rows", .inputs = {{{0, 5}}, {{5}}, {{5}}}, .run = affine},
      {.op = "rms_norm",
       .name = "rows",
       .inputs = {{{3, 5, 37}}, weight_37},
       .run = rms,
       .bench_inputs = {{{8192, 1024}}, weight_1024}},
      {.op = "rms_norm", .name = "many_rows", .inputs = {{{301, 19}}, {{19}}}, .run = rms},
      {.op = "rms_norm", .name = "one_column", .inputs = {{{4, 1}}, {{1}}}, .run = rms},
      {.op = "rms_norm", .name = "plain", .inputs = {{{3, 4, 5}}}, .run = rms_plain},
      {.op = "rms_norm", .name = "no_rows", .inputs = {{{0, 5}}, {{5}}}, .run = rms},
  };
}

}  // namespace glassformer::testing
