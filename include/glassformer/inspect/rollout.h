#pragma once

#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// How what a model gives depends on what went into it, by its attentions. `layers`: the weights of
// a stack's self-attentions, first to last, [heads, tokens, tokens], on the cpu. All throw
// ValueError for none, and ShapeError where the layers do not fit each other.

// Attention rollout (Abnar and Zuidema 2020): Â_L · … · Â_1 with Â = (mean over heads + I) / 2, the
// identity being the residual connection. [tokens, tokens]; every row adds up to 1.
Tensor attention_rollout(const std::vector<Tensor>& layers);

// Attention flow (the same paper): the maximum flow from the output at `query` down to each input
// token, one after the other, through the network of Â's weights. One number a token.
std::vector<double> attention_flow(const std::vector<Tensor>& layers, int64_t query);

// The weights of attentions of one kind, first layer to last, [heads, queries, keys], and the
// gradients of an output y by them; see attention_gradients().
struct WeightGradients {
  std::vector<Tensor> weights, gradients;
};

// Gradient-weighted rollout (Chefer, Gur and Wolf 2021), with Ā = mean over heads of
// max(0, A ∘ ∂y/∂A). Of one stack: R starts as I and becomes R + Ā R. [tokens, tokens].
Tensor gradient_rollout(const WeightGradients& stack);

// Of an encoder–decoder, whose source tokens are s and target tokens t: R_ss as above, then layer
// by layer R_tt, which starts as I, and R_ts, which starts as 0:
//   self-attention   R_tt becomes R_tt + Ā R_tt, and R_ts becomes R_ts + Ā R_ts
//   cross-attention  R_ts becomes R_ts + N(R_tt)ᵀ Ā N(R_ss)
// where N(R) is I + (R − I) with its rows divided by their sums; rows of zeros stay. What row i of
// `cross` and `decoder` say of the source and of what was said before is about y at position i.
struct GradientRollout {
  Tensor encoder, decoder, cross;  // R_ss, R_tt, R_ts
};
GradientRollout gradient_rollout(const WeightGradients& encoder, const WeightGradients& decoder,
                                 const WeightGradients& cross);

}  // namespace glassformer
