#pragma once

#include <functional>
#include <vector>

#include "glassformer/autograd/leaf_hook.h"
#include "glassformer/base/random.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Adds d loss / d leaf into the grad() of every leaf that requires it. The tape behind `loss` is
// used up. Throws AutogradError if loss is not on the tape, if part of it was used before, or if a
// tensor that it needs was changed in place; ShapeError unless loss has one element.
// `on_leaf` is called once for each leaf that the tape reaches, as soon as nothing that remains of
// this backward can add to its grad(), which is undefined where no gradient came: the newest layers
// are heard of first, a tied weight after its last use, what a checkpoint reaches after its block.
// The order depends on the tape alone.
void backward(const Tensor& loss, const LeafHook& on_leaf = {});

// The same from several outputs, with their gradients given.
void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients,
              const LeafHook& on_leaf = {});

// Runs a block without keeping what its backward needs; the backward runs the block again. What the
// block draws from `random` is the same both times.
using BlockFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
std::vector<Tensor> checkpoint(const BlockFunction& block, const std::vector<Tensor>& inputs,
                               Generator* random = nullptr);

}  // namespace glassformer
