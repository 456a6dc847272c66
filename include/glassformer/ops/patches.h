#pragma once

#include <cstdint>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// The patches of an image, cut without overlap and read row by row; each patch is flattened channel
// by channel, as a convolution's weight [D, C, height, width] is.
// image: [B, C, H, W], floating. A new tensor [B, (H/height)·(W/width), C·height·width].
// Throws ShapeError unless height divides H and width divides W, ValueError unless both are >= 1.
Tensor extract_patches(const Tensor& image, int64_t height, int64_t width);

// Every patch times the weight: a convolution whose stride is its kernel.
// image: [B, C, H, W]; weight: [D, C, height, width], as Hugging Face stores it; bias: [D], or
// none; all of one floating dtype and device. A new tensor [B, (H/height)·(W/width), D]. Gradients
// reach all three. Throws as extract_patches and linear do.
Tensor patch_embedding(const Tensor& image, const Tensor& weight, const Tensor& bias = {});

}  // namespace glassformer
