#pragma once

#include <memory>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

struct TapeNode;  // defined by autograd/

// Plain data that the tape keeps with a tensor: tensor/ stores it and knows nothing of it.
struct GradientState {
  bool requires_grad = false;
  Tensor grad;
  std::shared_ptr<TapeNode> node;  // that made this tensor; null for a leaf
  int output = 0;                  // which of the node's outputs this is
};

}  // namespace glassformer
