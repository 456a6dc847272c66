#pragma once

#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// How what a stack gives depends on what went into it, by its self-attentions. `layers`: the
// weights of each, first to last, [heads, tokens, tokens], on the cpu. All throw ValueError for
// none, and ShapeError where the layers do not fit each other.

// Attention rollout (Abnar and Zuidema 2020): Â_L · … · Â_1 with Â = (mean over heads + I) / 2, the
// identity being the residual connection. [tokens, tokens]; every row adds up to 1.
Tensor attention_rollout(const std::vector<Tensor>& layers);

// Attention flow (the same paper): the maximum flow from the output at `query` down to each input
// token, one after the other, through the network of Â's weights. One number a token.
std::vector<double> attention_flow(const std::vector<Tensor>& layers, int64_t query);

// Gradient-weighted rollout (Chefer, Gur and Wolf 2021): R starts as I and becomes R + Ā R with
// Ā = mean over heads of max(0, A ∘ ∂y/∂A). `gradients` are those of an output y by the weights;
// see attention_gradients(). [tokens, tokens].
Tensor gradient_rollout(const std::vector<Tensor>& layers, const std::vector<Tensor>& gradients);

}  // namespace glassformer
