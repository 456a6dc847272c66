#include "glassformer/image/processor.h"

#include <algorithm>

#include "base/check.h"
#include "base/parallel.h"
#include "image/processor_config.h"

namespace glassformer {
namespace {

void check_options(const ImageProcessorOptions& options) {
  const bool sides = options.height > 0 && options.width > 0 && options.shortest_edge == 0;
  const bool edge = options.height == 0 && options.width == 0 && options.shortest_edge > 0;
  require<ValueError>(!options.do_resize || sides || edge,
                      "ImageProcessor: expected a height and a width, or a shortest edge, found {} "
                      "x {} and {}",
                      options.height, options.width, options.shortest_edge);
  require<ValueError>(
      !options.do_center_crop || (options.crop_height > 0 && options.crop_width > 0),
      "ImageProcessor: expected a crop of positive sides, found {} x {}", options.crop_height,
      options.crop_width);
  for (double deviation : options.image_std)
    require<ValueError>(!options.do_normalize || deviation > 0,
                        "ImageProcessor: expected a positive image_std, found {}", deviation);
}

}  // namespace

ImageProcessor::ImageProcessor(const ImageProcessorOptions& options) : options_(options) {
  check_options(options);
  for (size_t channel = 0; channel < values_.size(); ++channel) {
    // In float32, as the original does it, after a product in float64.
    const auto mean = static_cast<float>(options.image_mean[channel]);
    const auto deviation = static_cast<float>(options.image_std[channel]);
    for (size_t byte = 0; byte < values_[channel].size(); ++byte) {
      const double factor = options.do_rescale ? options.rescale_factor : 1;
      const auto value = static_cast<float>(static_cast<double>(byte) * factor);
      values_[channel][byte] = options.do_normalize ? (value - mean) / deviation : value;
    }
  }
}

ImageProcessor ImageProcessor::load(const std::filesystem::path& folder) {
  return ImageProcessor(read_processor_options(folder));
}

Image ImageProcessor::fit(const Image& image) const {
  Image fitted;
  if (options_.do_resize) {
    int64_t width = options_.width, height = options_.height;
    if (options_.shortest_edge > 0) {
      const int64_t edge = std::max<int64_t>(1, std::min(image.width, image.height));
      width = options_.shortest_edge * image.width / edge;
      height = options_.shortest_edge * image.height / edge;
    }
    fitted = resize(image, width, height, options_.resample);
  } else {
    fitted = image;
  }
  if (options_.do_center_crop)
    fitted = center_crop(fitted, options_.crop_width, options_.crop_height);
  return fitted;
}

void ImageProcessor::write(const Image& image, float* values) const {
  for (const auto& channel : values_) {
    const uint8_t* pixel = image.pixels.data() + (&channel - values_.data());
    for (int64_t i = 0; i < image.width * image.height; ++i, pixel += 3)
      *values++ = channel[*pixel];
  }
}

Tensor ImageProcessor::operator()(const Image& image) const {
  const Image fitted = fit(image);
  Tensor values = empty({3, fitted.height, fitted.width});
  write(fitted, values.mutable_data<float>());
  return values;
}

Tensor ImageProcessor::operator()(std::span<const Image> images) const {
  require<ShapeError>(!images.empty(), "ImageProcessor: expected images, found none");
  std::vector<Image> fitted(images.size());
  const auto count = static_cast<int64_t>(images.size());
  parallel_tasks(count, [&](int64_t i) {
    fitted[static_cast<size_t>(i)] = fit(images[static_cast<size_t>(i)]);
  });
  const int64_t height = fitted[0].height, width = fitted[0].width;
  for (const Image& image : fitted)
    require<ShapeError>(image.height == height && image.width == width,
                        "ImageProcessor: expected a batch of one size, found {} x {} and {} x {}",
                        width, height, image.width, image.height);
  Tensor values = empty({count, 3, height, width});
  float* to = values.mutable_data<float>();
  parallel_tasks(count, [&](int64_t i) {
    write(fitted[static_cast<size_t>(i)], to + i * 3 * height * width);
  });
  return values;
}

}  // namespace glassformer
