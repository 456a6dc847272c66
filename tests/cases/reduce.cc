#include "glassformer/ops/reduce.h"

#include "support/op_case.h"

namespace glassformer::testing {
namespace {

OpCase sum_case(const char* name, Shape shape, std::vector<int> axes, Shape bench = {},
                bool keep = false) {
  OpCase one{.op = "sum",
             .name = name,
             .inputs = {{shape}},
             .run = [axes, keep](const std::vector<Tensor>& in) {
               return std::vector{sum(in[0], axes, keep)};
             }};
  if (!bench.empty()) one.bench_inputs = {{bench}};
  return one;
}

}  // namespace

std::vector<OpCase> cases_reduce() {
  std::vector<OpCase> cases{
      sum_case("all", {7, 33}, {}, {4096, 4096}),
      sum_case("last", {5, 47}, {-1}, {4096, 4096}),
      sum_case("leading", {35, 67}, {0}, {4096, 4096}),
      sum_case("middle", {3, 11, 19}, {1}, {256, 64, 1024}, true),
      sum_case("outer_inner", {4, 5, 23}, {0, 2}, {64, 256, 1024}),
      sum_case("alternating", {3, 4, 2, 5, 3}, {0, 2, 4}),
      sum_case("narrow", {1001, 3}, {0}, {4194304, 3}),
      sum_case("narrow_few", {9, 3}, {0}),
      sum_case("two_columns", {4099, 2}, {0}),
      sum_case("long_row", {3, 40001}, {1}),
      sum_case("many_rows", {1537, 20}, {0}),
      sum_case("wide", {600, 1030}, {0}),
      sum_case("size_one_axis", {5, 1, 7}, {1}),
      sum_case("ones", {1, 1}, {}),
      sum_case("scalar", {}, {}),
      sum_case("empty_summed", {4, 0}, {1}),
      sum_case("empty_kept", {0, 5}, {1}),
      sum_case("empty_leading", {0, 5}, {0}),
  };
  const auto averaged = [](const std::vector<Tensor>& in) { return std::vector{mean(in[0], {1})}; };
  const auto largest = [](int axis) {
    return [axis](const std::vector<Tensor>& in) {
      return std::vector{max(in[0], axis), argmax(in[0], axis)};
    };
  };
  cases.insert(
      cases.end(),
      {{.op = "mean", .name = "middle", .inputs = {{{3, 5, 7}}}, .run = averaged},
       {.op = "max",
        .name = "rows",
        .inputs = {{{5, 53}, Values::kDistinct}},
        .run = largest(-1),
        .half = false,
        .bench_inputs = {{{4096, 4096}}}},
       {.op = "max",
        .name = "leading",
        .inputs = {{{17, 5}, Values::kDistinct}},
        .run = largest(0),
        .half = false},
       {.op = "max", .name = "half", .inputs = {{{3, 21}, Values::kDistinct}}, .run = largest(1)},
       {.op = "max", .name = "one_column", .inputs = {{{4, 1}}}, .run = largest(1)},
       {.op = "max", .name = "no_rows", .inputs = {{{0, 3}}}, .run = largest(1)}});
  return cases;
}

}  // namespace glassformer::testing
