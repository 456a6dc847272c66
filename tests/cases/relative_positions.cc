#include "glassformer/ops/relative_positions.h"

#include "support/op_case.h"

namespace glassformer::testing {

std::vector<OpCase> cases_relative_positions() {
  using In = std::vector<Tensor>;
  const auto alibi = [](int64_t queries, int64_t keys) {
    return [queries, keys](const In& in) {
      return std::vector{alibi_bias(in[0], queries, keys, keys - queries)};
    };
  };
  const auto bias = [](const In& in) { return std::vector{relative_bias(in[0], in[1])}; };
  const auto t5 = [](int64_t queries, int64_t keys) {
    return [queries, keys](const In& in) {
      const Tensor buckets = relative_position_buckets(
          queries, keys, {.num_buckets = in[0].size(0), .max_distance = 20}, in[0].device());
      return std::vector{relative_bias(in[0], buckets)};
    };
  };
  const Input slopes{{3}, Values::kPositive, 0, false};
  return {
      {.op = "alibi_bias",
       .name = "rows",
       .inputs = {slopes},
       .run = alibi(5, 37),
       .gradient = false},
      {.op = "alibi_bias",
       .name = "no_queries",
       .inputs = {slopes},
       .run = alibi(0, 4),
       .gradient = false},
      {.op = "relative_bias",
       .name = "any_buckets",
       .inputs = {{{6, 5}}, {{7, 9}, Values::kIds, 6}},
       .run = bias},
      {.op = "relative_bias", .name = "t5", .inputs = {{{8, 3}}}, .run = t5(50, 70)},
      {.op = "relative_bias", .name = "t5_long", .inputs = {{{8, 2}}}, .run = t5(3, 1000)},
      {.op = "relative_bias",
       .name = "no_keys",
       .inputs = {{{4, 2}}, {{3, 0}, Values::kIds, 4}},
       .run = bias},
  };
}

}  // namespace glassformer::testing
