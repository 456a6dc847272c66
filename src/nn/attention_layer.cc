#include "glassformer/nn/attention_layer.h"

#include <algorithm>

#include "autograd/tape.h"
#include "glassformer/ops/cached_attention.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/view.h"
#include "nn/attention_steps.h"
#include "nn/probing.h"

namespace glassformer {
namespace {

LinearSpec projection(const AttentionSpec& spec, int64_t heads) {
  return {spec.width, heads * spec.head_size, spec.bias, spec.initial};
}

// [places, heads, size], as packed keys lie.
Tensor gathered(const Tensor& memory, const Tensor& places) {
  return transpose(index_select(memory, 1, places), 0, 1);
}

// The bias [1, heads, queries, keys] of packed parts, from that of distances.
Tensor packed_bias(const Tensor& distances, const CacheRows& rows) {
  const std::vector<int64_t> queries = rows.query_starts.to_vector<int64_t>();
  const std::vector<int64_t> keys = rows.key_starts.to_vector<int64_t>();
  std::vector<int64_t> index(static_cast<size_t>(queries.back() * keys.back()));
  for (size_t s = 0; s + 1 < queries.size(); ++s)
    for (int64_t i = queries[s]; i < queries[s + 1]; ++i)
      for (int64_t j = keys[s]; j < keys[s + 1]; ++j) {
        const int64_t before = (keys[s + 1] - j) - (queries[s + 1] - i);
        index[static_cast<size_t>(i * keys.back() + j)] = std::max<int64_t>(before, 0);
      }
  const Tensor ids =
      to(from_vector(index, {static_cast<int64_t>(index.size())}), distances.device());
  return reshape(index_select(distances, 1, ids),
                 {1, distances.size(0), queries.back(), keys.back()});
}

// Projections of x alone are packed together.
Weights own(const Weights& weights, AttentionLayer::Reads reads) {
  return reads == AttentionLayer::Reads::kSelf ? weights.unpacked() : weights;
}

}  // namespace

AttentionLayer::AttentionLayer(const Weights& weights, const AttentionSpec& spec, Reads reads)
    : place_(weights.place()),
      spec_(spec),
      query_(own(weights / "query", reads), projection(spec, spec.heads)),
      key_(own(weights / "key", reads), projection(spec, spec.key_heads)),
      value_(own(weights / "value", reads), projection(spec, spec.key_heads)),
      output_(weights / "output",
              {spec.heads * spec.head_size, spec.width, spec.output_bias, spec.output_initial}) {
  if (weights.pack() && reads == Reads::kSelf)
    query_key_value_ = Linear::fused({&query_, &key_, &value_});
  if (spec.query_key_norm) {
    const NormSpec norm{NormSpec::Kind::kRms, spec.norm_epsilon};
    query_norm_.emplace(weights / "query_norm", spec.head_size, norm);
    key_norm_.emplace(weights / "key_norm", spec.head_size, norm);
  }
}

// [batch, length, heads * size] → [batch, heads, length, size]; packed rows keep their order.
Tensor AttentionLayer::by_heads(const Tensor& x, int64_t heads) const {
  if (x.rank() == 2) return reshape(x, {x.size(0), heads, spec_.head_size});
  return transpose(reshape(x, {x.size(0), x.size(1), heads, spec_.head_size}), 1, 2);
}

AttentionLayer::Projected AttentionLayer::project(const Tensor& x, const AttentionInput& input,
                                                  const Context& context) const {
  const Tensor& source = input.source.defined() ? input.source : x;
  Tensor query, key, value;
  if (query_key_value_ && !input.source.defined() && !needs_grad(x)) {
    const int64_t inner = spec_.heads * spec_.head_size;
    const int64_t key_inner = spec_.key_heads * spec_.head_size;
    const auto parts = split((*query_key_value_)(x), -1, {inner, key_inner, key_inner});
    query = parts[0], key = parts[1], value = parts[2];
  } else {
    query = query_(x, {}, context);
    key = key_(source, {}, context);
    value = value_(source, {}, context);
  }
  return {by_heads(query, spec_.heads), by_heads(key, spec_.key_heads),
          by_heads(value, spec_.key_heads)};
}

Tensor AttentionLayer::turned(const Tensor& x, const AttentionInput& input) const {
  if (input.rotary == nullptr) return x;
  if (x.rank() == 4) return apply_rotary(x, *input.rotary, input.rotary_options);
  // Packed rows are one long sequence with positions of their own.
  const Tensor row = unsqueeze(transpose(x, 0, 1), 0);
  return transpose(squeeze(apply_rotary(row, *input.rotary, input.rotary_options), 0), 0, 1);
}

void AttentionLayer::store(const Tensor& source, const KeyValue& memory,
                           const Tensor& places) const {
  Tensor key = by_heads(key_(source), spec_.key_heads);
  if (key_norm_) key = (*key_norm_)(key);
  store_rows(memory.key, places, key);
  store_rows(memory.value, places, by_heads(value_(source), spec_.key_heads));
}

AttentionOptions AttentionLayer::options_for(const AttentionInput& input,
                                             const Context& context) const {
  AttentionOptions options = input.pattern;
  options.scale = spec_.scale;
  options.softcap = spec_.softcap;
  if (spec_.window > 0) options.window_left = spec_.window - 1;
  if (context.random != nullptr && spec_.dropout > 0) {
    options.dropout = spec_.dropout;
    options.random = context.random->next();
  }
  return options;
}

// Keys and values come from the memory: step by step where they lie, or gathered for the fused
// kernel and for a probe to see.
Tensor AttentionLayer::attend_cached(const Tensor& query, const AttentionInput& input,
                                     const Context& context) const {
  const CacheRows& rows = *input.rows;
  AttentionOptions options = options_for(input, context);
  const auto steps = [&] {
    return cached_attention(query, input.memory->key, input.memory->value, rows.places,
                            rows.key_starts,
                            {.scale = options.scale,
                             .softcap = options.softcap,
                             .window_left = options.window_left,
                             .alibi_slopes = options.alibi_slopes,
                             .distance_bias = input.distance_bias});
  };
  const bool by_steps = rows.steps && options.dropout == 0;
  if (by_steps && context.probe == nullptr) return steps().output;

  options.query_starts = rows.query_starts;
  options.key_starts = rows.key_starts;
  if (input.distance_bias.defined()) options.bias = packed_bias(input.distance_bias, rows);
  const Tensor key = probed(context, place_, "key", gathered(input.memory->key, rows.places));
  const Tensor value = probed(context, place_, "value", gathered(input.memory->value, rows.places));
  const bool as_stored = !replaces(context, place_, "key") && !replaces(context, place_, "value");
  return attend(context, place_, query, key, value, options,
                by_steps && as_stored ? FusedAttention(steps) : FusedAttention());
}

Tensor AttentionLayer::operator()(const Tensor& x, const AttentionInput& input,
                                  const Context& context, const Tensor& residual) const {
  const bool cached = input.rows != nullptr;
  Projected now;
  if (cached && !input.rows->written.defined()) {
    now.query = by_heads(query_(x, {}, context), spec_.heads);
    if (query_norm_) now.query = (*query_norm_)(now.query);
  } else {
    now = project(x, input, context);
    if (query_norm_) now.query = (*query_norm_)(now.query), now.key = (*key_norm_)(now.key);
    now.query = turned(now.query, input);
    now.key = turned(now.key, input);
  }
  now.query = probed(context, place_, "query", now.query);
  Tensor heads;
  if (cached) {
    if (now.key.defined()) {
      store_rows(input.memory->key, input.rows->written, now.key);
      store_rows(input.memory->value, input.rows->written, now.value);
    }
    heads = attend_cached(now.query, input, context);
  } else {
    now.key = probed(context, place_, "key", now.key);
    now.value = probed(context, place_, "value", now.value);
    heads = attend(context, place_, now.query, now.key, now.value, options_for(input, context));
  }
  heads = probed(context, place_, "heads", heads);
  const Tensor concat = x.rank() == 2 ? flatten(heads, 1) : flatten(transpose(heads, 1, 2), 2);
  return add_projected(context, place_, output_, probed(context, place_, "concat", concat),
                       residual, spec_.output_dropout);
}

}  // namespace glassformer
