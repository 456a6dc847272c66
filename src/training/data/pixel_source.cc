#include "training/data/pixel_source.h"

#include <algorithm>

#include "base/check.h"

namespace glassformer {
namespace {

// Rec. 601 luma in 16 binary places, as Pillow's convert("L").
uint8_t grey(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

void write_planes(const Image& image, int64_t channels, uint8_t* planes) {
  const int64_t count = image.width * image.height;
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t* pixel = image.pixels.data() + 3 * i;
      *planes++ = channels == 1 ? grey(pixel) : pixel[channel];
    }
}

class IdxPixels : public PixelSource {
 public:
  IdxPixels(const LabelledImagesOptions& options, const IdxArray& images)
      : PixelSource(options.channels == 0 ? 1 : options.channels,
                    options.height == 0 ? images.shape[1] : options.height,
                    options.width == 0 ? images.shape[2] : options.width) {
    if (height == images.shape[1] && width == images.shape[2]) {
      values_ = images.values;
      return;
    }
    const int64_t area = images.shape[1] * images.shape[2];
    values_.resize(static_cast<size_t>(images.shape[0] * height * width));
    Image image(images.shape[2], images.shape[1]);
    for (int64_t i = 0; i < images.shape[0]; ++i) {
      for (int64_t at = 0; at < area; ++at)
        std::fill_n(image.pixels.begin() + 3 * at, 3,
                    images.values[static_cast<size_t>(i * area + at)]);
      write_planes(resize(image, width, height, options.resample), 1,
                   values_.data() + i * height * width);
    }
  }

  void read(int64_t example, uint8_t* planes) const override {
    const int64_t area = height * width;
    for (int64_t channel = 0; channel < channels; ++channel)
      std::copy_n(values_.data() + example * area, area, planes + channel * area);
  }

 private:
  std::vector<uint8_t> values_;  // grey: [count, height, width]
};

class FilePixels : public PixelSource {
 public:
  FilePixels(const LabelledImagesOptions& options, std::vector<std::filesystem::path> files)
      : PixelSource(options.channels == 0 ? 3 : options.channels, options.height, options.width),
        files_(std::move(files)),
        resample_(options.resample) {}

  void read(int64_t example, uint8_t* planes) const override {
    const Image image = read_image(files_[static_cast<size_t>(example)]);
    write_planes(resize(image, width, height, resample_), channels, planes);
  }

 private:
  std::vector<std::filesystem::path> files_;
  Resample resample_;
};

}  // namespace

PixelSource::PixelSource(int64_t channels, int64_t height, int64_t width)
    : channels(channels), height(height), width(width) {
  require<ValueError>(channels == 1 || channels == 3,
                      "LabelledImages: expected 1 or 3 channels, found {}", channels);
  require<ValueError>(height > 0 && width > 0 && height <= kMaxPixels / width,
                      "LabelledImages: expected a height and a width of at most {} pixels, found "
                      "{} x {}",
                      kMaxPixels, height, width);
}

std::shared_ptr<const PixelSource> idx_pixels(const LabelledImagesOptions& options,
                                              const IdxArray& images) {
  return std::make_shared<IdxPixels>(options, images);
}

std::shared_ptr<const PixelSource> file_pixels(const LabelledImagesOptions& options,
                                               std::vector<std::filesystem::path> files) {
  return std::make_shared<FilePixels>(options, std::move(files));
}

}  // namespace glassformer
