#include "glassformer/ops/gather.h"

#include "support/op_case.h"

namespace glassformer::testing {

std::vector<OpCase> cases_gather() {
  const auto rows = [](const std::vector<Tensor>& in) {
    return std::vector{gather_rows(in[0], in[1])};
  };
  const auto selected = [](int axis) {
    return [axis](const std::vector<Tensor>& in) {
      return std::vector{index_select(in[0], axis, in[1])};
    };
  };
  const auto picked = [](int axis) {
    return
        [axis](const std::vector<Tensor>& in) { return std::vector{gather(in[0], axis, in[1])}; };
  };
  const auto joined = [](int axis) {
    return [axis](const std::vector<Tensor>& in) { return std::vector{concatenate(in, axis)}; };
  };
  const auto stacked = [](int axis) {
    return [axis](const std::vector<Tensor>& in) { return std::vector{stack(in, axis)}; };
  };
  const auto ids = [](Shape shape, int64_t limit) { return Input{shape, Values::kIds, limit}; };
  return {
      {.op = "gather_rows",
       .name = "repeated",
       .inputs = {{{7, 19}}, ids({3, 5}, 7)},
       .run = rows,
       .bench_inputs = {{{50000, 512}}, ids({32768}, 50000)}},
      {.op = "gather_rows", .name = "vector", .inputs = {{{9}}, ids({4}, 9)}, .run = rows},
      {.op = "gather_rows", .name = "one_id", .inputs = {{{6, 3}}, ids({}, 6)}, .run = rows},
      {.op = "gather_rows", .name = "no_ids", .inputs = {{{6, 3}}, ids({0}, 6)}, .run = rows},
      {.op = "gather_rows", .name = "hot", .inputs = {{{2, 5}}, ids({301}, 2)}, .run = rows},
      {.op = "index_select",
       .name = "first",
       .inputs = {{{5, 3, 4}}, ids({6}, 5)},
       .run = selected(0)},
      {.op = "index_select",
       .name = "middle",
       .inputs = {{{2, 5, 33}}, ids({7}, 5)},
       .run = selected(1)},
      {.op = "index_select",
       .name = "last",
       .inputs = {{{3, 4, 5}}, ids({6}, 5)},
       .run = selected(-1)},
      {.op = "gather", .name = "last", .inputs = {{{4, 9}}, ids({4, 3}, 9)}, .run = picked(-1)},
      {.op = "gather", .name = "first", .inputs = {{{5, 7}}, ids({8, 7}, 5)}, .run = picked(0)},
      {.op = "gather",
       .name = "smaller",
       .inputs = {{{4, 5, 6}}, ids({3, 8, 2}, 5)},
       .run = picked(1)},
      {.op = "gather", .name = "empty", .inputs = {{{4, 5}}, ids({4, 0}, 5)}, .run = picked(1)},
      {.op = "concatenate",
       .name = "first",
       .inputs = {{{2, 5}}, {{3, 5}}, {{1, 5}}},
       .run = joined(0)},
      {.op = "concatenate",
       .name = "last",
       .inputs = {{{2, 3, 5}}, {{2, 3, 7}}},
       .run = joined(-1),
       .bench_inputs = {{{2048, 4096}}, {{2048, 4096}}}},
      {.op = "concatenate", .name = "with_empty", .inputs = {{{2, 0}}, {{2, 3}}}, .run = joined(1)},
      {.op = "concatenate", .name = "single", .inputs = {{{4}}}, .run = joined(0)},
      {.op = "stack", .name = "first", .inputs = {{{3, 5}}, {{3, 5}}}, .run = stacked(0)},
      {.op = "stack", .name = "last", .inputs = {{{3, 5}}, {{3, 5}}, {{3, 5}}}, .run = stacked(-1)},
      {.op = "stack", .name = "scalars", .inputs = {{{}}, {{}}}, .run = stacked(0)},
  };
}

}  // namespace glassformer::testing
