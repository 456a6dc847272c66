#include "glassformer/ops/pointwise.h"

#include "support/op_case.h"

namespace glassformer::testing {

std::vector<OpCase> cases_pointwise() {
  std::vector<OpCase> cases;
  const std::pair<const char*, Tensor (*)(const Tensor&)> functions[] = {
      {"exp", exp}, {"log", log}, {"sqrt", sqrt}, {"square", square}};
  for (const auto& [name, f] : functions) {
    const auto run = [f = f](const std::vector<Tensor>& in) { return std::vector{f(in[0])}; };
    cases.push_back({.op = "pointwise",
                     .name = name,
                     .inputs = {{{3, 5, 7}, Values::kPositive}},
                     .run = run,
                     .bench_inputs = {{{4096, 4096}, Values::kPositive}}});
    cases.push_back({.op = "pointwise",
                     .name = std::string(name) + "_empty",
                     .inputs = {{{0, 3}, Values::kPositive}},
                     .run = run});
  }
  const auto clamped = [](const std::vector<Tensor>& in) {
    return std::vector{clamp(in[0], 0.25, 0.625)};
  };
  const auto chosen = [](const std::vector<Tensor>& in) {
    return std::vector{where(in[0], in[1], in[2])};
  };
  const auto bools = [](Shape shape) { return Input{shape, Values::kBools}; };
  const Shape large{4096, 4096};
  cases.insert(
      cases.end(),
      {// The step of the half types must not carry a number over a bound.
       {.op = "clamp",
        .name = "distinct",
        .inputs = {{{7, 11}, Values::kDistinct}},
        .run = clamped,
        .half = false},
       {.op = "clamp",
        .name = "large",
        .inputs = {{{65}, Values::kDistinct}},
        .run = clamped,
        .half = false,
        .bench_inputs = {{large}}},
       {.op = "where",
        .name = "same",
        .inputs = {bools({5, 33}), {{5, 33}}, {{5, 33}}},
        .run = chosen,
        .bench_inputs = {bools(large), {large}, {large}}},
       {.op = "where",
        .name = "row_mask",
        .inputs = {bools({33}), {{5, 33}}, {{5, 1}}},
        .run = chosen},
       {.op = "where", .name = "scalars", .inputs = {bools({4, 9}), {{}}, {{1}}}, .run = chosen},
       {.op = "where",
        .name = "wide_mask",
        .inputs = {bools({2, 3, 5}), {{3, 1}}, {{5}}},
        .run = chosen},
       {.op = "where", .name = "empty", .inputs = {bools({0, 5}), {{5}}, {{1}}}, .run = chosen}});
  return cases;
}

}  // namespace glassformer::testing
