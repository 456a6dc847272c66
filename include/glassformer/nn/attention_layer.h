#pragma once

#include <optional>
#include <string>

#include "glassformer/nn/context.h"
#include "glassformer/nn/kv_cache.h"
#include "glassformer/nn/linear.h"
#include "glassformer/nn/norm.h"
#include "glassformer/ops/attention.h"
#include "glassformer/ops/rotary.h"

namespace glassformer {

struct AttentionSpec {
  int64_t width = 0;  // of the input and the output
  int64_t heads = 1, key_heads = 1, head_size = 0;
  bool bias = true, output_bias = true;  // of query, key and value; of the output
  bool query_key_norm = false;           // an RMSNorm over each head's query and key
  double norm_epsilon = 1e-6;
  std::optional<double> scale = {};  // 1 / sqrt(head size) unless given
  double softcap = 0;
  int64_t window = 0;         // a query sees so many keys, its own the last; 0 is all
  double dropout = 0;         // of the weights
  double output_dropout = 0;  // of the output, before the residual
  Initial initial = {}, output_initial = {};
};

// What one call attends to, and how.
struct AttentionInput {
  AttentionOptions pattern = {};        // mask, causal, window, lengths, bias, ...
  Tensor source = {};                   // what keys and values are made from; x itself unless given
  const RotaryTable* rotary = nullptr;  // turns query and key
  RotaryOptions rotary_options = {};
  // Where kept keys and values lie, and what this call sees of them. x is then packed [tokens,
  // width]. The call's own are stored first, where the rows say where.
  const KeyValue* memory = nullptr;
  const CacheRows* rows = nullptr;
  Tensor distance_bias = {};  // [heads, distances], of the rows; in place of a bias in the pattern
};

// Multi-head attention with its projections, and the residual around it:
//   residual + dropout(concat(heads) · W_Oᵀ + b_O),  heads = attention(x W_Qᵀ, s W_Kᵀ, s W_Vᵀ)
// x: [batch, length, width], or packed [tokens, width] with pattern.query_starts.
// Steps: query, key, value (as they meet: after norm, rotation and cache), scores, scaled_scores,
// masked_scores, weights, heads, concat, output.
class AttentionLayer {
 public:
  // What keys and values are made from: x, or the source of each call.
  enum class Reads : uint8_t { kSelf, kSource };
  AttentionLayer(const Weights& weights, const AttentionSpec& spec, Reads reads);
  Tensor operator()(const Tensor& x, const AttentionInput& input, const Context& context,
                    const Tensor& residual = {}) const;

  // Stores the keys and values of `source`, packed [tokens, width], for later calls.
  void store(const Tensor& source, const KeyValue& memory, const Tensor& places) const;

  const AttentionSpec& spec() const { return spec_; }

 private:
  struct Projected {
    Tensor query, key, value;  // [batch, heads, length, size]; packed: [tokens, heads, size]
  };
  Projected project(const Tensor& x, const AttentionInput& input, const Context& context) const;
  AttentionOptions options_for(const AttentionInput& input, const Context& context) const;
  Tensor attend_cached(const Tensor& query, const AttentionInput& input,
                       const Context& context) const;
  Tensor turned(const Tensor& x, const AttentionInput& input) const;
  Tensor by_heads(const Tensor& x, int64_t heads) const;

  std::string place_;
  AttentionSpec spec_;
  Linear query_, key_, value_, output_;
  std::optional<Linear> query_key_value_;  // all three in one, for inference on x alone
  std::optional<Norm> query_norm_, key_norm_;
};

}  // namespace glassformer
