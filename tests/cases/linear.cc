#include "glassformer/ops/linear.h"

#include "support/op_case.h"

namespace glassformer::testing {
namespace {

using Run = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// x, weight, bias and residual.
Run fused(Activation activation) {
  return [activation](const std::vector<Tensor>& in) {
    return std::vector{linear(in[0], in[1], in[2], {activation, in[3]})};
  };
}

std::vector<Input> operands(int64_t rows, int64_t in, int64_t out) {
  return {{{rows, in}}, {{out, in}, Values::kSmall}, {{out}}, {{rows, out}}};
}

}  // namespace

std::vector<OpCase> cases_linear() {
  const Run plain = [](const std::vector<Tensor>& in) { return std::vector{linear(in[0], in[1])}; };
  const Run packed = [](const std::vector<Tensor>& in) {
    return std::vector{linear(in[0], PackedWeight(in[1]), in[2])};
  };
  const Run product = [](const std::vector<Tensor>& in) {
    return std::vector{matmul(in[0], in[1])};
  };
  const Run transposed = [](const std::vector<Tensor>& in) {
    return std::vector{matmul(transpose(in[0], -1, -2), transpose(in[1], -1, -2))};
  };
  std::vector<OpCase> cases = {
      {.op = "linear",
       .name = "plain",
       .inputs = {{{2, 3, 17}}, {{9, 17}, Values::kSmall}},
       .run = plain,
       .bench_inputs = {{{512, 768}}, {{3072, 768}, Values::kSmall}}},
      {.op = "linear",
       .name = "one_row",
       .inputs = {{{1, 33}}, {{65, 33}, Values::kSmall}},
       .run = plain},
      {.op = "linear",
       .name = "vector",
       .inputs = {{{33}}, {{5, 33}, Values::kSmall}},
       .run = plain},
      {.op = "linear", .name = "no_rows", .inputs = {{{0, 5}}, {{4, 5}}}, .run = plain},
      {.op = "linear",
       .name = "deep",
       .inputs = {{{7, 600}}, {{34, 600}, Values::kSmall}},
       .run = plain},
      {.op = "linear",
       .name = "packed",
       .inputs = {{{5, 40}, Values::kNormal, 0, false},
                  {{37, 40}, Values::kSmall, 0, false},
                  {{37}, Values::kNormal, 0, false}},
       .run = packed,
       .gradient = false},
      {.op = "matmul",
       .name = "batched",
       .inputs = {{{2, 3, 5, 7}}, {{2, 3, 7, 4}}},
       .run = product},
      {.op = "matmul",
       .name = "broadcast",
       .inputs = {{{3, 1, 5, 7}}, {{2, 7, 4}}},
       .run = product},
      {.op = "matmul",
       .name = "transposed",
       .inputs = {{{2, 7, 5}}, {{2, 4, 7}}},
       .run = transposed},
      {.op = "matmul", .name = "empty", .inputs = {{{2, 3, 0}}, {{2, 0, 4}}}, .run = product},
  };
  for (Activation f :
       {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
        Activation::kSilu, Activation::kSigmoid, Activation::kTanh})
    cases.push_back({.op = "linear",
                     .name = std::string("fused_") + name_of(f),
                     .inputs = operands(11, 19, 35),
                     .run = fused(f),
                     // Half a bit moves a number over the kink of ReLU, and its gradient with it.
                     .half = f != Activation::kRelu});
  return cases;
}

}  // namespace glassformer::testing
