#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "glassformer/base/random.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Everything about an attention that its operands do not say. Tensors are absent until given.
struct AttentionOptions {
  // bool: true means attend. Floating: added to the scaled scores, and no gradient is taken.
  // Any shape that broadcasts to [batch, heads, queries, keys].
  Tensor mask = {};
  // Added to the scaled (and capped) scores, with a gradient. Shapes as for the mask.
  Tensor bias = {};
  // ALiBi: adds slope_h · (j - p) for a query at place p and key j. float [heads]; no gradient.
  Tensor alibi_slopes = {};

  // Query i stands at place p = i + offset among the keys; the offset is keys - queries (bottom
  // right) unless query_offsets, int64 [batch], gives it.
  bool causal = false;        // keys j <= p
  int64_t window_left = -1;   // keys j >= p - window_left; -1 is open
  int64_t window_right = -1;  // keys j <= p + window_right; -1 is open
  Tensor query_offsets = {};

  // Padding: int64 [batch], keys from key_lengths[b] on are not there. Does not move the diagonal.
  Tensor key_lengths = {};

  // Packed sequences of unequal length: query [queries, heads, size], key and value
  // [keys, key heads, size] hold the sequences end to end, sequence s in rows starts[s] to
  // starts[s + 1]. Both int64 [sequences + 1]. Each has its own diagonal, at its bottom right.
  Tensor query_starts = {}, key_starts = {};

  std::optional<double> scale = {};  // 1 / sqrt(size) unless given
  double softcap = 0;                // cap · tanh(score / cap) on the scaled scores; 0 is none
  double dropout = 0;                // of weights, drawn from `random`
  RandomKey random = {};
};

struct AttentionResult {
  Tensor output;       // like query, with the size of value; heads lie next to each other in memory
  Tensor log_sum_exp;  // float32 (float64 for float64): [batch, heads, queries]; packed: [1, ...]
};

// Scaled dot-product attention, softmax(scale · Q Kᵀ + bias) V, in one pass that never holds the
// whole matrix of weights.
//   query [batch, heads, queries, size]       key [batch, key heads, keys, size]
//   value [batch, key heads, keys, value size]
// heads is a multiple of key heads (grouped or single key/value heads). Any strides: views of
// [batch, length, heads, size] cost nothing. A query that may attend to nothing gives zeros,
// log-sum-exp -inf and zero gradients. Gradients reach query, key, value and bias, from both
// results. Throws ShapeError, DTypeError, DeviceError, ValueError or IndexError.
AttentionResult attention(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionOptions& options = {});

// The weights of just the heads and queries asked for (all of them where a list is empty), from
// the log-sum-exp that attention() returned with the same arguments: what the fused kernel used,
// before dropout. [batch, heads asked, queries asked, keys], in log_sum_exp's dtype; off the tape.
// Throws IndexError for a head or query out of range.
Tensor attention_weights(const Tensor& query, const Tensor& key, const Tensor& log_sum_exp,
                         const AttentionOptions& options = {},
                         const std::vector<int64_t>& heads = {},
                         const std::vector<int64_t>& queries = {});

}  // namespace glassformer
