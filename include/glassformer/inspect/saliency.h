#pragma once

#include <cstdint>
#include <vector>

#include "glassformer/inspect/rollout.h"
#include "glassformer/models/model.h"

namespace glassformer {

// One number that a model gives: the logit of `output` (a label or token id) at `position`. Logits
// of a whole input have no position.
struct Explained {
  int64_t output = -1;    // the largest unless given
  int64_t position = -1;  // counted from the end when negative
};

// What the input's tokens (of an encoder–decoder: the encoder's; of a picture: its patches) have to
// do with one logit. All run the model with a tape, batches of one, and throw UnsupportedError for
// quantised weights, ValueError for a model without logits and IndexError for an output or position
// that is not there.

// |∂ logit / ∂ embedding|, the Euclidean norm for each token: [tokens], float32 on the cpu.
Tensor gradient_saliency(const Model& model, const TransformerInput& input, Explained what = {});

// Integrated gradients (Sundararajan et al. 2017) from a baseline to the input, along the straight
// line between their `embedding` steps, by `points` points of Gauss and Legendre's quadrature.
// Completeness: the tokens' numbers add up to output − baseline_output.
struct IntegratedGradients {
  Tensor tokens;  // [tokens], float32 on the cpu
  double output = 0, baseline_output = 0;
};
IntegratedGradients integrated_gradients(const Model& model, const TransformerInput& input,
                                         const TransformerInput& baseline, Explained what = {},
                                         int64_t points = 32);

// The weights of all attentions of a model and the gradients of the logit by them, for
// gradient_rollout(): the self-attentions of its stacks, and the cross-attentions. Empty where
// there are none.
struct GradientsByWeights {
  WeightGradients encoder, decoder, cross;
};
GradientsByWeights attention_gradients(const Model& model, const TransformerInput& input,
                                       Explained what = {});

}  // namespace glassformer
