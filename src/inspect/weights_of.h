#pragma once

#include <string>

#include "glassformer/models/model.h"

namespace glassformer {

// The weight of this name, or an undefined tensor. Throws UnsupportedError where it is quantised.
Tensor weight_of(const Model& model, const std::string& name);

// "encoder" or "decoder": the stack that the head stands on.
std::string last_stack_name(const Model& model);
// "embedding" or "decoder_embedding": what that stack is given.
std::string last_embedding_name(const Model& model);

}  // namespace glassformer
