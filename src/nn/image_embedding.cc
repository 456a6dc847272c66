#include "glassformer/nn/image_embedding.h"

#include "base/check.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/patches.h"
#include "glassformer/ops/view.h"
#include "tensor/shape_format.h"

namespace glassformer {

ImageEmbedding::ImageEmbedding(const Weights& weights, const ImageEmbeddingSpec& spec)
    : place_(weights.place()), spec_(spec) {
  const Weights patches = weights / "patches";
  patch_weight_ = patches.get(
      "weight", {spec.size, spec.channels, spec.patch_height, spec.patch_width}, spec.initial);
  patch_bias_ = patches.get("bias", {spec.size}, {});
  class_token_ = weights.get("class_token", {1, 1, spec.size}, spec.initial);
  if (spec.distillation_token)
    distillation_token_ = weights.get("distillation_token", {1, 1, spec.size}, spec.initial);
  positions_ = weights.get("positions", {1, spec.tokens(), spec.size}, spec.initial);
}

Tensor ImageEmbedding::operator()(const Tensor& pixels, const Context& context) const {
  require<ShapeError>(pixels.rank() == 4 && pixels.size(1) == spec_.channels &&
                          pixels.size(2) == spec_.height && pixels.size(3) == spec_.width,
                      "{}: expected pixels [batch, {}, {}, {}], found {}", place_, spec_.channels,
                      spec_.height, spec_.width, pixels.shape());
  const Tensor patches =
      probed(context, "", "patches", patch_embedding(pixels, patch_weight_, patch_bias_));
  const Shape one{pixels.size(0), 1, spec_.size};
  std::vector<Tensor> tokens{expand(class_token_, one)};
  if (distillation_token_.defined()) tokens.push_back(expand(distillation_token_, one));
  tokens.push_back(patches);
  const Tensor x = concatenate(tokens, 1) + probed(context, "", "positions", positions_);
  return dropped(context, spec_.dropout, probed(context, "", place_.c_str(), x));
}

}  // namespace glassformer
