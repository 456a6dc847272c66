#include "glassformer/ops/activation.h"

#include "support/op_case.h"

namespace glassformer::testing {

std::vector<OpCase> cases_activation() {
  std::vector<OpCase> cases;
  for (const Activation f :
       {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
        Activation::kSilu, Activation::kSigmoid, Activation::kTanh}) {
    const std::string name = name_of(f);
    const auto plain = [f](const std::vector<Tensor>& in) {
      return std::vector{activate(in[0], f)};
    };
    const auto two = [f](const std::vector<Tensor>& in) {
      return std::vector{gated(in[0], in[1], f)};
    };
    const auto packed = [f](const std::vector<Tensor>& in) {
      return std::vector{gated_packed(in[0], f)};
    };
    if (f != Activation::kNone)
      cases.push_back({.op = "activation",
                       .name = name,
                       .inputs = {{{3, 5, 7}}},
                       .run = plain,
                       .bench_inputs = {{{4096, 4096}}}});
    cases.push_back({.op = "gated", .name = name, .inputs = {{{3, 37}}, {{3, 37}}}, .run = two});
    cases.push_back({.op = "gated_packed", .name = name, .inputs = {{{2, 3, 38}}}, .run = packed});
  }
  const auto silu_gated = [](const std::vector<Tensor>& in) {
    return std::vector{gated(in[0], in[1], Activation::kSilu)};
  };
  const auto silu_packed = [](const std::vector<Tensor>& in) {
    return std::vector{gated_packed(in[0], Activation::kSilu)};
  };
  const auto up_only = [](const std::vector<Tensor>& in) {
    return std::vector{gated(in[0].detach(), in[1], Activation::kGelu)};
  };
  const auto gate_only = [](const std::vector<Tensor>& in) {
    return std::vector{gated(in[0], in[1].detach(), Activation::kGelu)};
  };
  const auto relu_only = [](const std::vector<Tensor>& in) { return std::vector{relu(in[0])}; };
  const Input fixed{.shape = {4, 19}, .differentiable = false};
  cases.insert(
      cases.end(),
      {{.op = "activation", .name = "empty", .inputs = {{{0, 3}}}, .run = relu_only},
       {.op = "activation", .name = "scalar", .inputs = {{{}}}, .run = relu_only},
       {.op = "gated",
        .name = "wide",
        .inputs = {{{2, 64}}, {{2, 64}}},
        .run = silu_gated,
        .bench_inputs = {{{2048, 4096}}, {{2048, 4096}}}},
       {.op = "gated", .name = "up_only", .inputs = {fixed, {{4, 19}}}, .run = up_only},
       {.op = "gated", .name = "gate_only", .inputs = {{{4, 19}}, fixed}, .run = gate_only},
       {.op = "gated", .name = "no_rows", .inputs = {{{0, 3}}, {{0, 3}}}, .run = silu_gated},
       {.op = "gated", .name = "no_columns", .inputs = {{{3, 0}}, {{3, 0}}}, .run = silu_gated},
       {.op = "gated_packed",
        .name = "wide",
        .inputs = {{{2, 64}}},
        .run = silu_packed,
        .bench_inputs = {{{2048, 8192}}}},
       {.op = "gated_packed", .name = "empty", .inputs = {{{3, 0}}}, .run = silu_packed}});
  return cases;
}

}  // namespace glassformer::testing
