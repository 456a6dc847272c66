#pragma once

#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

#include "glassformer/tensor/tensor.h"

namespace glassformer::bench {

// A model of {"folder", "precision", "names"} in training, without dropout: a run is one step of
// AdamW (clipped to norm 1) on the batch whose tensors `inputs` are, in the order of `names`:
// Hugging Face's, and "labels". A causal language model is given its labels shifted by one. The
// result is the mean loss before the step, float32 [1].
std::function<Tensor()> train_case(const std::vector<Tensor>& inputs, const nlohmann::json& args);

}  // namespace glassformer::bench
