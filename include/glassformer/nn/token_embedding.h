#pragma once

#include <memory>
#include <optional>
#include <string>

#include "glassformer/nn/context.h"
#include "glassformer/nn/norm.h"
#include "glassformer/nn/positions.h"

namespace glassformer {

struct TokenEmbeddingSpec {
  int64_t vocabulary = 0, width = 0;
  int64_t types = 0;  // segments; 0 is none
  std::optional<int64_t> padding = {};
  double scale = 1;  // of the token vectors: sqrt(width) in the 2017 Transformer
  PositionSpec positions = {};
  std::optional<NormSpec> norm = {};
  double dropout = 0;
  Initial initial = {};
};

struct TokenInput {
  Tensor ids;             // int64 [batch, length], or packed [tokens]
  Tensor vectors = {};    // floating [batch, length, width], in place of ids
  Tensor types = {};      // like ids; zeros unless given
  Tensor positions = {};  // like ids: rows of the table; counted from the first unless given
};

// Token, segment and position vectors, added up, normed and dropped out:
//   norm(scale · tokens[ids] + types[t] + positions[p])
// Weights `tokens` [vocabulary, width], `types`, `positions`, `norm`. Steps: positions
// (decoder_positions), and the result under the layer's own name.
class TokenEmbedding {
 public:
  // `tokens`: a table that is shared with another layer, in place of one of its own.
  TokenEmbedding(const Weights& weights, const TokenEmbeddingSpec& spec, WeightMatrix tokens = {});
  Tensor operator()(const TokenInput& input, const Context& context) const;
  const WeightMatrix& tokens() const { return tokens_; }

 private:
  Tensor token_vectors(const Tensor& ids) const;
  Tensor position_vectors(const TokenInput& input, const Tensor& tokens) const;

  std::string place_, positions_step_;
  TokenEmbeddingSpec spec_;
  WeightMatrix tokens_;
  Tensor types_, positions_;
  std::unique_ptr<SinusoidalTable> sinusoidal_;
  std::optional<Norm> norm_;
};

}  // namespace glassformer
