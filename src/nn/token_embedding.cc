#include "glassformer/nn/token_embedding.h"

#include <algorithm>

#include "base/check.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/embedding.h"
#include "glassformer/ops/quantise.h"
#include "glassformer/ops/view.h"
#include "nn/probing.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

// Counts the tokens that are not padding, row by row, from `first`; padding gets first - 1.
Tensor positions_without_padding(const Tensor& ids, int64_t padding, int64_t first) {
  const std::vector<int64_t> values = ids.to_vector<int64_t>();
  std::vector<int64_t> positions(values.size());
  const auto length = static_cast<size_t>(ids.size(-1));
  int64_t next = first;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % length == 0) next = first;
    positions[i] = values[i] == padding ? first - 1 : next++;
  }
  return to(from_vector(positions, ids.shape()), ids.device());
}

}  // namespace

TokenEmbedding::TokenEmbedding(const Weights& weights, const TokenEmbeddingSpec& spec,
                               WeightMatrix tokens)
    : place_(weights.place()),
      positions_step_(place_ == "decoder_embedding" ? "decoder_positions" : "positions"),
      spec_(spec),
      tokens_(std::move(tokens)) {
  if (!tokens_.defined() && spec.vocabulary > 0)
    tokens_ = (weights / "tokens").matrix("weight", {spec.vocabulary, spec.width}, spec.initial);
  if (spec.types > 0)
    types_ = (weights / "types").get("weight", {spec.types, spec.width}, spec.initial);
  if (spec.positions.kind == PositionSpec::Kind::kLearned)
    positions_ = (weights / "positions")
                     .get("weight", {spec.positions.max_positions, spec.width}, spec.initial);
  if (spec.positions.kind == PositionSpec::Kind::kSinusoidal)
    sinusoidal_ = std::make_unique<SinusoidalTable>(spec.width, spec.positions.sinusoidal);
  if (spec.norm) norm_.emplace(weights / "norm", spec.width, *spec.norm);
}

Tensor TokenEmbedding::token_vectors(const Tensor& ids) const {
  if (tokens_.quantised.defined()) return embedding(tokens_.quantised, ids, tokens_.dtype);
  return cast(embedding(tokens_.tensor, ids, spec_.padding), tokens_.dtype);
}

// [length, width], or [batch, length, width] where the rows of a batch differ.
Tensor TokenEmbedding::position_vectors(const TokenInput& input, const Tensor& tokens) const {
  const PositionSpec& spec = spec_.positions;
  const int64_t length = tokens.size(-2);
  const bool learned = spec.kind == PositionSpec::Kind::kLearned;
  Tensor rows = input.positions;
  if (spec.skip_padding && !rows.defined() && input.ids.defined() && spec_.padding)
    rows = positions_without_padding(input.ids, *spec_.padding, spec.first_row);
  if (!learned) {
    int64_t longest = length;
    if (rows.defined()) {
      const std::vector<int64_t> values = rows.to_vector<int64_t>();
      longest = values.empty() ? 1 : *std::max_element(values.begin(), values.end()) + 1;
    }
    const Tensor table = sinusoidal_->get(longest, tokens.options());
    return rows.defined() ? embedding(table, rows) : slice(table, 0, 0, length);
  }
  if (rows.defined()) return embedding(positions_, rows);
  require<IndexError>(length <= spec.max_positions - spec.first_row,
                      "{}: expected at most {} positions, found {}", place_,
                      spec.max_positions - spec.first_row, length);
  return learned_positions(positions_, length, spec.first_row);
}

Tensor TokenEmbedding::operator()(const TokenInput& input, const Context& context) const {
  require<ValueError>(input.vectors.defined() || (input.ids.defined() && tokens_.defined()),
                      "{}: expected {}, found none", place_,
                      tokens_.defined() ? "token ids or vectors" : "vectors, for it has no table");
  Tensor x = input.vectors.defined() ? input.vectors : token_vectors(input.ids);
  require<ShapeError>(x.rank() >= 2 && x.size(-1) == spec_.width,
                      "{}: expected vectors of {}, found {}", place_, spec_.width, x.shape());
  if (spec_.scale != 1) x = x * spec_.scale;
  if (types_.defined())
    x = x + (input.types.defined() ? embedding(types_, input.types) : select(types_, 0, 0));
  const PositionSpec::Kind kind = spec_.positions.kind;
  if (kind == PositionSpec::Kind::kLearned || kind == PositionSpec::Kind::kSinusoidal)
    x = x + probed(context, "", positions_step_.c_str(), position_vectors(input, x));
  if (norm_) x = (*norm_)(x);
  return dropped(context, spec_.dropout, probed(context, "", place_.c_str(), x));
}

}  // namespace glassformer
