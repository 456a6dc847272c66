#include "glassformer/ops/embedding.h"

#include "support/op_case.h"

namespace glassformer::testing {

std::vector<OpCase> cases_embedding() {
  using In = std::vector<Tensor>;
  const auto plain = [](const In& in) { return std::vector{embedding(in[0], in[1])}; };
  const auto padded = [](const In& in) {
    return std::vector{embedding(in[0], cast(in[1], DType::kInt32), 2)};
  };
  return {
      {.op = "embedding",
       .name = "plain",
       .inputs = {{{11, 37}}, {{3, 7}, Values::kIds, 11}},
       .run = plain,
       .bench_inputs = {{{32000, 512}}, {{32, 1024}, Values::kIds, 32000}}},
      // Every row is met often: the order of the sums shows.
      {.op = "embedding",
       .name = "repeated",
       .inputs = {{{5, 600}}, {{200}, Values::kIds, 5}},
       .run = plain},
      {.op = "embedding",
       .name = "padded",
       .inputs = {{{7, 5}}, {{2, 3, 4}, Values::kIds, 7}},
       .run = padded},
      {.op = "embedding",
       .name = "many_ids",
       .inputs = {{{300, 3}}, {{40}, Values::kIds, 300}},
       .run = plain},
      // Enough for threads to share the sort of the places, and rows in several pieces.
      {.op = "embedding",
       .name = "many_places",
       .inputs = {{{2100, 3}}, {{9000}, Values::kIds, 2100}},
       .run = plain},
      {.op = "embedding",
       .name = "wide",
       .inputs = {{{3, 4100}}, {{7}, Values::kIds, 3}},
       .run = plain},
      {.op = "embedding",
       .name = "one_id",
       .inputs = {{{4, 1}}, {{}, Values::kIds, 4}},
       .run = plain},
      {.op = "embedding",
       .name = "no_ids",
       .inputs = {{{4, 6}}, {{0, 3}, Values::kIds, 4}},
       .run = plain},
  };
}

}  // namespace glassformer::testing
