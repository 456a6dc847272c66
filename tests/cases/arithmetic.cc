#include "glassformer/ops/arithmetic.h"

#include <string_view>

#include "support/op_case.h"

namespace glassformer::testing {
namespace {

using Op = Tensor (*)(const Tensor&, const Tensor&);

OpCase binary(const char* op, const char* name, Op f, Shape a, Shape b) {
  const Values second = f == static_cast<Op>(divide) ? Values::kPositive : Values::kNormal;
  return {.op = op,
          .name = name,
          .inputs = {{a}, {b, second}},
          .run = [f](const std::vector<Tensor>& in) { return std::vector{f(in[0], in[1])}; }};
}

// add_ and scale_ on copies, so that what they write is an output.
std::vector<Tensor> in_place(const std::vector<Tensor>& in) {
  const NoGrad no_grad;
  Tensor sum = clone(in[0]), grown = clone(in[0]);
  add_(sum, in[1]);
  scale_(grown, -1.5);
  return {sum, grown};
}

std::vector<Tensor> in_place_strided(const std::vector<Tensor>& in) {
  const NoGrad no_grad;
  Tensor sum = clone(in[0]);
  add_(transpose(sum, 0, 1), in[1]);
  scale_(slice(sum, 1, 0, 4, 2), 3);
  return {sum};
}

}  // namespace

std::vector<OpCase> cases_arithmetic() {
  std::vector<OpCase> cases;
  const std::pair<const char*, Op> ops[] = {
      {"add", add}, {"subtract", subtract}, {"multiply", multiply}, {"divide", divide}};
  for (const auto& [name, f] : ops) {
    cases.push_back(binary(name, "same", f, {5, 33}, {5, 33}));
    cases.push_back(binary(name, "row", f, {5, 33}, {33}));
    cases.push_back(binary(name, "column", f, {5, 33}, {5, 1}));
    cases.push_back(binary(name, "scalar", f, {5, 33}, {}));
    cases.push_back(binary(name, "left_scalar", f, {1}, {3, 37}));
    cases.push_back(binary(name, "left_row", f, {19}, {4, 19}));
    cases.push_back(binary(name, "both", f, {3, 1, 5}, {4, 1}));
    cases.push_back(binary(name, "middle", f, {2, 3, 17}, {2, 1, 17}));
    cases.push_back(binary(name, "one", f, {1, 1}, {1}));
    cases.push_back(binary(name, "empty", f, {0, 4}, {4}));
  }
  const Shape large{4096, 4096};
  for (OpCase& one : cases) {
    // The gradient of one number sums many that cancel: half types round them before the op does.
    if (one.name == "scalar" || one.name == "left_scalar") one.half = false;
    if (one.op != "add" && one.op != "multiply") continue;
    if (one.name == "same") one.bench_inputs = {{large}, {large}};
    if (one.name == "row") one.bench_inputs = {{large}, {{4096}}};
    if (one.name == "column" && one.op == "multiply") one.bench_inputs = {{large}, {{4096, 1}}};
  }
  const auto grown = [](const std::vector<Tensor>& in) {
    return std::vector{affine(in[0], -2.5, 0.75)};
  };
  for (const char* name : {"scalar", "left_scalar"}) {
    const bool left = std::string_view(name) == "left_scalar";
    cases.push_back(binary("subtract_forward", name, subtract, left ? Shape{} : Shape{3, 37},
                           left ? Shape{3, 37} : Shape{1}));
    cases.back().gradient = false;
  }
  cases.insert(cases.end(), {{.op = "affine",
                              .name = "plain",
                              .inputs = {{{3, 5, 7}}},
                              .run = grown,
                              .bench_inputs = {{large}}},
                             {.op = "affine", .name = "empty", .inputs = {{{0}}}, .run = grown},
                             {.op = "in_place",
                              .name = "row",
                              .inputs = {{{3, 35}}, {{35}}},
                              .run = in_place,
                              .gradient = false},
                             {.op = "in_place",
                              .name = "strided",
                              .inputs = {{{6, 5}}, {{5, 6}}},
                              .run = in_place_strided,
                              .gradient = false}});
  return cases;
}

}  // namespace glassformer::testing
