#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "glassformer/training/image_data.h"
#include "training/data/idx.h"

namespace glassformer {

// Images of one size.
class PixelSource {
 public:
  PixelSource(int64_t channels, int64_t height, int64_t width);
  virtual ~PixelSource() = default;
  PixelSource(const PixelSource&) = delete;
  PixelSource& operator=(const PixelSource&) = delete;

  // Writes bytes [channels, height, width]. Throws FileError.
  virtual void read(int64_t example, uint8_t* planes) const = 0;

  const int64_t channels, height, width;
};

// The images of an IDX file [count, height, width], at the size that the options ask for.
std::shared_ptr<const PixelSource> idx_pixels(const LabelledImagesOptions& options,
                                              const IdxArray& images);
// Files, read and resized as they are asked for.
std::shared_ptr<const PixelSource> file_pixels(const LabelledImagesOptions& options,
                                               std::vector<std::filesystem::path> files);

}  // namespace glassformer
