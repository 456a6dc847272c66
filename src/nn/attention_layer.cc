#include "glassformer/nn/attention_layer.h"

#include "autograd/tape.h"
#include "base/check.h"
#include "glassformer/ops/view.h"
#include "nn/attention_steps.h"
#include "nn/probing.h"

namespace glassformer {
namespace {

LinearSpec projection(const AttentionSpec& spec, int64_t heads) {
  return {spec.width, heads * spec.head_size, spec.bias, spec.initial};
}

}  // namespace

AttentionLayer::AttentionLayer(const Weights& weights, const AttentionSpec& spec)
    : place_(weights.place()),
      spec_(spec),
      query_((weights / "query").unpacked(), projection(spec, spec.heads)),
      key_((weights / "key").unpacked(), projection(spec, spec.key_heads)),
      value_((weights / "value").unpacked(), projection(spec, spec.key_heads)),
      output_(weights / "output",
              {spec.heads * spec.head_size, spec.width, spec.output_bias, spec.output_initial}) {
  if (weights.pack()) query_key_value_ = Linear::fused({&query_, &key_, &value_});
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

AttentionLayer::Projected AttentionLayer::project(const Tensor& x,
                                                  const AttentionInput& input) const {
  const Tensor& source = input.source.defined() ? input.source : x;
  Tensor query, key, value;
  if (query_key_value_ && !input.source.defined() && !needs_grad(x)) {
    const int64_t inner = spec_.heads * spec_.head_size;
    const int64_t key_inner = spec_.key_heads * spec_.head_size;
    const auto parts = split((*query_key_value_)(x), -1, {inner, key_inner, key_inner});
    query = parts[0], key = parts[1], value = parts[2];
  } else {
    query = query_(x), key = key_(source), value = value_(source);
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

Tensor AttentionLayer::operator()(const Tensor& x, const AttentionInput& input,
                                  const Context& context, const Tensor& residual) const {
  Projected now;
  if (input.fixed != nullptr && input.fixed->key.defined()) {
    now = {by_heads(query_(x), spec_.heads), input.fixed->key, input.fixed->value};
    if (query_norm_) now.query = (*query_norm_)(now.query);
  } else {
    now = project(x, input);
    if (query_norm_) now.query = (*query_norm_)(now.query), now.key = (*key_norm_)(now.key);
    now.query = turned(now.query, input);
    now.key = turned(now.key, input);
    if (input.fixed != nullptr) *input.fixed = {now.key, now.value};
  }
  if (input.cache != nullptr) {
    const KeyValue all = input.cache->append({now.key, now.value});
    now.key = all.key, now.value = all.value;
  }
  now.query = probed(context, place_, "query", now.query);
  now.key = probed(context, place_, "key", now.key);
  now.value = probed(context, place_, "value", now.value);

  AttentionOptions options = input.pattern;
  options.scale = spec_.scale;
  options.softcap = spec_.softcap;
  if (spec_.window > 0) options.window_left = spec_.window - 1;
  if (context.random != nullptr && spec_.dropout > 0) {
    options.dropout = spec_.dropout;
    options.random = context.random->next();
  }
  Tensor heads = attend(context, place_, now.query, now.key, now.value, options);
  heads = probed(context, place_, "heads", heads);
  const Tensor concat = x.rank() == 2 ? flatten(heads, 1) : flatten(transpose(heads, 1, 2), 2);
  return add_projected(context, place_, output_, probed(context, place_, "concat", concat),
                       residual, spec_.output_dropout);
}

}  // namespace glassformer
