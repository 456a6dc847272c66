#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>

#include "glassformer/image/resize.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// What happens to an image before a model sees it, in this order. The names are those of Hugging
// Face's preprocessor_config.json.
struct ImageProcessorOptions {
  bool do_resize = true;
  // Either both sides, or the shorter one (then the other keeps the proportions) and no sides.
  int64_t height = 224;
  int64_t width = 224;
  int64_t shortest_edge = 0;
  Resample resample = Resample::kBilinear;

  bool do_center_crop = false;
  int64_t crop_height = 0;
  int64_t crop_width = 0;

  bool do_rescale = true;
  double rescale_factor = 1.0 / 255;

  bool do_normalize = true;
  std::array<double, 3> image_mean{0.5, 0.5, 0.5};
  std::array<double, 3> image_std{0.5, 0.5, 0.5};
};

// Image to pixel_values: resize, crop, then (pixel · rescale_factor − mean) / std for each channel.
class ImageProcessor {
 public:
  // Throws ValueError for sizes that are not positive and for a deviation that is not.
  explicit ImageProcessor(const ImageProcessorOptions& options = {});

  // Reads preprocessor_config.json in a Hugging Face folder; where that is too old to say whose it
  // is, the model_type of config.json decides. Knows the processors of ViT, DeiT, CLIP, SigLIP and
  // BiT (which is DINOv2's). Throws FileError for any other and for fields that make no sense.
  static ImageProcessor load(const std::filesystem::path& folder);

  const ImageProcessorOptions& options() const { return options_; }

  // pixel_values [3, height, width], float32 on the cpu.
  Tensor operator()(const Image& image) const;
  // [batch, 3, height, width]. Throws ShapeError where the results differ in size.
  Tensor operator()(std::span<const Image> images) const;

  // What of an image the model sees: resized and cropped.
  Image fit(const Image& image) const;

 private:
  void write(const Image& image, float* values) const;

  ImageProcessorOptions options_;
  // What a channel's byte becomes: all the arithmetic there is, done once.
  std::array<std::array<float, 256>, 3> values_{};
};

}  // namespace glassformer
