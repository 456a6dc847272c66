#include "glassformer/ops/attention.h"

#include "support/op_case.h"

namespace glassformer::testing {
namespace {

using Run = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

Run with(AttentionOptions options) {
  return [options](const std::vector<Tensor>& in) {
    const AttentionResult result = attention(in[0], in[1], in[2], options);
    return std::vector{result.output};
  };
}

Run with_bias(AttentionOptions options) {
  return [options](const std::vector<Tensor>& in) {
    AttentionOptions all = options;
    all.bias = in[3];
    const AttentionResult result = attention(in[0], in[1], in[2], all);
    return std::vector{result.output, cast(result.log_sum_exp, in[0].dtype())};
  };
}

Run with_mask(AttentionOptions options) {
  return [options](const std::vector<Tensor>& in) {
    AttentionOptions all = options;
    all.mask = in[3];
    return std::vector{attention(in[0], in[1], in[2], all).output};
  };
}

// query, key and value of [batch, heads, length, size].
std::vector<Input> operands(int64_t batch, int64_t heads, int64_t key_heads, int64_t queries,
                            int64_t keys, int64_t size, int64_t value_size) {
  return {{{batch, heads, queries, size}},
          {{batch, key_heads, keys, size}},
          {{batch, key_heads, keys, value_size}}};
}

std::vector<Input> and_also(std::vector<Input> inputs, Input more) {
  inputs.push_back(std::move(more));
  return inputs;
}

}  // namespace

std::vector<OpCase> cases_attention() {
  const AttentionOptions causal{.causal = true};
  std::vector<OpCase> cases = {
      {.name = "full",
       .inputs = operands(2, 3, 3, 7, 11, 5, 5),
       .run = with({}),
       .bench_inputs = operands(1, 12, 12, 2048, 2048, 64, 64)},
      {.name = "causal",
       .inputs = operands(2, 2, 2, 9, 9, 8, 8),
       .run = with(causal),
       .bench_inputs = operands(1, 12, 12, 2048, 2048, 64, 64)},
      {.name = "causal_more_keys", .inputs = operands(1, 2, 2, 5, 13, 8, 8), .run = with(causal)},
      {.name = "causal_more_queries",
       .inputs = operands(1, 2, 2, 13, 5, 8, 8),
       .run = with(causal)},
      {.name = "grouped", .inputs = operands(2, 6, 2, 5, 7, 20, 12), .run = with(causal)},
      {.name = "single_key_head", .inputs = operands(1, 4, 1, 3, 6, 8, 8), .run = with({})},
      {.name = "one_query", .inputs = operands(3, 2, 2, 1, 17, 16, 16), .run = with(causal)},
      {.name = "one_key", .inputs = operands(1, 1, 1, 4, 1, 3, 7), .run = with({})},
      {.name = "no_queries", .inputs = operands(1, 1, 1, 0, 4, 3, 7), .run = with({})},
      {.name = "no_keys", .inputs = operands(1, 2, 1, 3, 0, 4, 4), .run = with({})},
      {.name = "many_blocks", .inputs = operands(1, 1, 1, 131, 301, 12, 40), .run = with(causal)},
      {.name = "wide", .inputs = operands(1, 2, 1, 120, 120, 100, 70), .run = with(causal)},
      // The last queries take one, two or all vectors of a panel of 64.
      {.name = "queries_of_two_vectors",
       .inputs = operands(1, 2, 1, 90, 70, 12, 9),
       .run = with({})},
      {.name = "queries_of_a_half_panel",
       .inputs = and_also(operands(1, 2, 2, 25, 140, 8, 8), {{1, 2, 25, 140}}),
       .run = with_bias(causal)},
      {.name = "many_queries", .inputs = operands(1, 2, 1, 301, 97, 33, 17), .run = with({})},
      {.name = "window",
       .inputs = operands(1, 2, 2, 130, 270, 6, 6),
       .run = with({.causal = true, .window_left = 17})},
      {.name = "window_both_sides",
       .inputs = operands(1, 1, 1, 40, 31, 6, 6),
       .run = with({.window_left = 3, .window_right = 5})},
      {.name = "softcap",
       .inputs = operands(1, 2, 2, 9, 12, 16, 16),
       .run = with({.scale = 0.9, .softcap = 3.0})},
      {.name = "negative_scale",
       .inputs = operands(1, 1, 1, 5, 9, 8, 8),
       .run = with({.causal = true, .scale = -0.3})},
      {.name = "dropout",
       .inputs = operands(2, 2, 1, 11, 261, 8, 8),
       .run = with({.causal = true, .dropout = 0.3, .random = {7, 9}})},
      {.name = "mask_full",
       .inputs = and_also(operands(2, 2, 2, 6, 9, 8, 8), {{2, 2, 6, 9}, Values::kBools}),
       .run = with_mask({})},
      {.name = "mask_keys",
       .inputs = and_also(operands(2, 2, 1, 6, 9, 8, 8), {{2, 1, 1, 9}, Values::kBools}),
       .run = with_mask(causal)},
      {.name = "mask_queries",
       .inputs = and_also(operands(2, 2, 1, 6, 9, 8, 8), {{6, 1}, Values::kBools}),
       .run = with_mask({})},
      {.name = "bias_full",
       .inputs = and_also(operands(2, 2, 2, 6, 9, 8, 8), {{2, 2, 6, 9}}),
       .run = with_bias({})},
      {.name = "bias_heads",
       .inputs = and_also(operands(2, 4, 2, 6, 270, 8, 8), {{1, 4, 6, 270}}),
       .run = with_bias({.causal = true, .softcap = 5.0})},
      {.name = "bias_keys",
       .inputs = and_also(operands(2, 2, 2, 101, 9, 8, 8), {{2, 1, 1, 9}}),
       .run = with_bias({})},
      {.name = "bias_queries",
       .inputs = and_also(operands(2, 2, 2, 6, 9, 8, 8), {{6, 1}}),
       .run = with_bias({.dropout = 0.2, .random = {1, 2}})},
  };
  for (OpCase& one : cases) {
    one.op = "attention";
    one.half = false;  // bfloat16 is compared with a same-precision reference in attention_test.cc
    one.factor = 8;
    one.large = count_of(one.inputs[0].shape) + count_of(one.inputs[1].shape) > 2000;
  }
  return cases;
}

}  // namespace glassformer::testing
