#pragma once

#include <string>

#include "glassformer/nn/context.h"
#include "glassformer/ops/attention.h"

namespace glassformer {

// attention(), with the steps inside it (scores, scaled_scores, masked_scores, weights) probed
// under `place`. The fused kernel runs unless a step is replaced.
Tensor attend(const Context& context, const std::string& place, const Tensor& query,
              const Tensor& key, const Tensor& value, const AttentionOptions& options);

}  // namespace glassformer
