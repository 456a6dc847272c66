#pragma once

#include <functional>
#include <string>

#include "glassformer/nn/context.h"
#include "glassformer/ops/attention.h"

namespace glassformer {

// The kernel that gives the results.
using FusedAttention = std::function<AttentionResult()>;

// attention(), with the steps inside it (scores, scaled_scores, masked_scores, weights) probed
// under `place`. The fused kernel runs unless a step is replaced: `fused` where it is given.
Tensor attend(const Context& context, const std::string& place, const Tensor& query,
              const Tensor& key, const Tensor& value, const AttentionOptions& options,
              const FusedAttention& fused = {});

}  // namespace glassformer
