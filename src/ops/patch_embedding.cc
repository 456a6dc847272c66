#include "glassformer/ops/patch_embedding.h"

#include "glassformer/ops/linear.h"
#include "glassformer/ops/patches.h"
#include "glassformer/ops/view.h"
#include "ops/common.h"

namespace glassformer {

Tensor patch_embedding(const Tensor& image, const Tensor& weight, const Tensor& bias) {
  check_rank("patch_embedding", "image", image, 4);
  check_rank("patch_embedding", "weight", weight, 4);
  check_shape("patch_embedding", "weight", weight,
              {weight.size(0), image.size(1), weight.size(2), weight.size(3)});
  const Tensor patches = extract_patches(image, weight.size(2), weight.size(3));
  return linear(patches, flatten(weight, 1), bias);
}

}  // namespace glassformer
