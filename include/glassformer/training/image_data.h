#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "glassformer/image/resize.h"
#include "glassformer/training/dataset.h"

namespace glassformer {

class PixelSource;  // private, in src/training/data

// Drawn anew for each example and epoch, in this order.
struct Augmentation {
  bool flip = false;  // left and right, half of the time
  int64_t crop = 0;   // pixels of black put around, of which a part of the image's size is taken
  // How often a rectangle is erased (Zhong et al., 2017), of 2 to 33 % of the image, its sides at
  // most 3.3 to 1. It becomes 0, the mean.
  double erase = 0;
};

struct LabelledImagesOptions {
  int64_t height = 0, width = 0;  // 0, both: as they are in an IDX file
  int64_t channels = 0;           // 1 (grey) or 3; 0: those of the file
  Resample resample = Resample::kBilinear;
  // Of bytes divided by 255; one for each channel, or one for all.
  std::vector<double> mean{0.5}, deviation{0.5};
  Augmentation augmentation = {};
};

// Images with a class each: pixel_values [batch, channels, height, width], targets [batch].
class LabelledImages : public Dataset {
 public:
  // IDX files, as MNIST's are: images [count, height, width] of bytes, and as many labels; plain or
  // gzip. `classes`: how many there are; 0 takes any label. Throws FileError.
  static LabelledImages from_idx(const LabelledImagesOptions& options,
                                 const std::filesystem::path& images,
                                 const std::filesystem::path& labels, int64_t classes = 0);
  // A folder for each class, with PNG and JPEG files, which are read when a batch asks for them.
  // Classes are the folders' names, sorted, or as `names` has them. Throws FileError.
  static LabelledImages from_folder(const LabelledImagesOptions& options,
                                    const std::filesystem::path& folder,
                                    const std::vector<std::string>& names = {});

  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  int64_t length(int64_t /*example*/) const override { return 1; }
  Batch collate(std::span<const int64_t> examples, RandomKey key) const override;
  // Of the classes; empty for IDX files, which have none.
  const std::vector<std::string>& names() const { return names_; }

 private:
  LabelledImages(const LabelledImagesOptions& options, std::shared_ptr<const PixelSource> pixels,
                 std::vector<int32_t> labels, std::vector<std::string> names);

  std::shared_ptr<const PixelSource> pixels_;
  std::vector<int32_t> labels_;
  std::vector<std::string> names_;
  Augmentation augmentation_;
  std::vector<std::array<float, 256>> values_;  // what a channel's byte becomes
};

}  // namespace glassformer
