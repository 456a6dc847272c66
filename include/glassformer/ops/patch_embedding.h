#pragma once

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// The embedding of a Vision Transformer: every patch of the image through one linear layer, which
// is a convolution whose step is its size.
//   image [batch, channels, height, width]   weight [size, channels, patch height, patch width]
//   bias [size], or none                     → [batch, patches, size], patches row by row
// Gradients reach all three. Throws ShapeError unless the patches cover the image exactly.
Tensor patch_embedding(const Tensor& image, const Tensor& weight, const Tensor& bias = {});

}  // namespace glassformer
