#pragma once

#include <cmath>

#include "base/check.h"
#include "glassformer/decoding/search.h"

namespace glassformer {

// sum / length^α, in float32 as Hugging Face has it. Nothing said has score 0.
inline float length_penalised(float sum, size_t length, double alpha) {
  if (length == 0) return 0;
  return sum / static_cast<float>(std::pow(static_cast<double>(length), alpha));
}

inline float total_score(std::span<const float> token_scores, double alpha) {
  float sum = 0;
  for (const float score : token_scores) sum += score;
  return length_penalised(sum, token_scores.size(), alpha);
}

inline void check_scores(const StepScores& scores, size_t live, size_t vocabulary) {
  require<ShapeError>(
      scores.logits.size() == live * vocabulary,
      "advance: expected logits of {} live hypotheses × {} tokens, found {} numbers", live,
      vocabulary, scores.logits.size());
}

}  // namespace glassformer
