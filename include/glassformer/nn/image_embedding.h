#pragma once

#include <string>

#include "glassformer/nn/context.h"
#include "glassformer/nn/weights.h"

namespace glassformer {

struct ImageEmbeddingSpec {
  int64_t channels = 3, height = 0, width = 0;  // of the image
  int64_t patch_height = 0, patch_width = 0;
  int64_t size = 0;                 // of a token's vector
  bool distillation_token = false;  // DeiT: a second learned token after [CLS]
  double dropout = 0;
  Initial initial = {};

  int64_t patches() const { return (height / patch_height) * (width / patch_width); }
  int64_t tokens() const { return patches() + (distillation_token ? 2 : 1); }
};

// A picture as a sequence: [CLS], (distillation,) and one token a patch, each with its position
// added. pixels: [batch, channels, height, width] → [batch, tokens, size].
// Weights `patches` (weight [size, channels, patch height, patch width] and bias), `class_token`
// and `distillation_token` [1, 1, size], `positions` [1, tokens, size]. Steps: patches, positions,
// and the result under the layer's own name.
class ImageEmbedding {
 public:
  ImageEmbedding(const Weights& weights, const ImageEmbeddingSpec& spec);
  // Throws ShapeError for pictures of another size.
  Tensor operator()(const Tensor& pixels, const Context& context) const;

 private:
  std::string place_;
  ImageEmbeddingSpec spec_;
  Tensor patch_weight_, patch_bias_, class_token_, distillation_token_, positions_;
};

}  // namespace glassformer
