#include "glassformer/ops/patches.h"

#include "glassformer/ops/linear.h"
#include "glassformer/ops/view.h"
#include "kernels/patches.h"
#include "ops/common.h"
#include "tensor/shape_format.h"

namespace glassformer {

Tensor extract_patches(const Tensor& image_in, int64_t height, int64_t width) {
  constexpr const char* kOp = "extract_patches";
  check_floating(kOp, "image", image_in);
  check_rank(kOp, "image", image_in, 4);
  require<ValueError>(height >= 1 && width >= 1,
                      "{}: expected a height and width of at least 1, found {} and {}", kOp, height,
                      width);
  const int64_t down = image_in.size(2) / height, across = image_in.size(3) / width;
  require<ShapeError>(down * height == image_in.size(2) && across * width == image_in.size(3),
                      "{}: expected an image that patches of {}×{} divide evenly, found shape {}",
                      kOp, height, width, image_in.shape());
  const Tensor image = contiguous(image_in);
  Tensor y = empty({image.size(0), down * across, image.size(1) * height * width}, image.options());
  call(kExtractPatches, image, y, PatchSize{height, width});
  if (needs_grad(image))
    record(kOp, {image}, {y},
           [shape = image.shape(), size = PatchSize{height, width}](const std::vector<Tensor>& dy) {
             Tensor dimage = empty(shape, dy[0].options());
             call(kAssemblePatches, contiguous(dy[0]), dimage, size);
             return std::vector{dimage};
           });
  return y;
}

Tensor patch_embedding(const Tensor& image, const Tensor& weight, const Tensor& bias) {
  constexpr const char* kOp = "patch_embedding";
  check_floating(kOp, "image", image);
  check_rank(kOp, "image", image, 4);
  check_rank(kOp, "weight", weight, 4);
  check_same_device(kOp, {{"image", image}, {"weight", weight}, {"bias", bias}});
  check_same_dtype(kOp, {{"image", image}, {"weight", weight}, {"bias", bias}});
  require<ShapeError>(weight.size(1) == image.size(1),
                      "{}: expected weight of {} channels like image, found shape {}", kOp,
                      image.size(1), weight.shape());
  return linear(extract_patches(image, weight.size(2), weight.size(3)), flatten(weight, 1, 3),
                bias);
}

}  // namespace glassformer
