#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/nearest.h"
#include "glassformer/training/image_data.h"
#include "training/data/draws.h"
#include "training/data/packed.h"
#include "training/data/pixel_source.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;

bool is_image(const fs::path& path) {
  std::string end = path.extension().string();
  std::transform(end.begin(), end.end(), end.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return end == ".png" || end == ".jpg" || end == ".jpeg";
}

// What the folder holds that `wanted` says yes to, sorted by name.
template <class Wanted>
std::vector<fs::path> sorted_entries(const fs::path& folder, Wanted wanted) {
  std::error_code fault;
  std::vector<fs::path> paths;
  fs::directory_iterator entry(folder, fault);
  for (; !fault && entry != fs::directory_iterator(); entry.increment(fault))
    if (wanted(*entry)) paths.push_back(entry->path());
  require<FileError>(!fault, "{}: cannot be listed: {}", folder.string(), fault.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// One for all channels stands for each.
double of_channel(const std::vector<double>& numbers, const char* name, size_t channel,
                  size_t channels) {
  require<ValueError>(numbers.size() == 1 || numbers.size() == channels,
                      "LabelledImages: expected one {} or {}, found {}", name, channels,
                      numbers.size());
  return numbers[numbers.size() == 1 ? 0 : channel];
}

struct Place {
  bool flip;
  int64_t down, right;  // of the part that is taken, in the image with its border
};

// values: [channels, height, width], of bytes of the same shape.
void write_values(const PixelSource& image, const uint8_t* planes, const Place& place,
                  int64_t border, const std::vector<std::array<float, 256>>& table, float* values) {
  for (const auto& channel : table) {
    for (int64_t y = place.down - border; y < image.height + place.down - border; ++y)
      for (int64_t x = place.right - border; x < image.width + place.right - border; ++x) {
        const bool inside = y >= 0 && y < image.height && x >= 0 && x < image.width;
        const int64_t column = place.flip ? image.width - 1 - x : x;
        *values++ = channel[inside ? planes[y * image.width + column] : 0];
      }
    planes += image.height * image.width;
  }
}

void erase_rectangle(const PixelSource& image, Draws& draws, float* values) {
  constexpr int kTries = 10;
  const auto area = static_cast<double>(image.height * image.width);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const double part = area * (0.02 + 0.31 * draws.uniform());
    const double ratio = std::exp(std::log(3.3) * (2 * draws.uniform() - 1));
    const int64_t height = std::llround(std::sqrt(part * ratio));
    const int64_t width = std::llround(std::sqrt(part / ratio));
    if (height >= image.height || width >= image.width) continue;
    const int64_t top = draws.below(image.height - height + 1);
    const int64_t left = draws.below(image.width - width + 1);
    for (int64_t channel = 0; channel < image.channels; ++channel)
      for (int64_t y = top; y < top + height; ++y)
        std::fill_n(values + (channel * image.height + y) * image.width + left, width, 0.0F);
    return;
  }
}

}  // namespace

LabelledImages::LabelledImages(const LabelledImagesOptions& options,
                               std::shared_ptr<const PixelSource> pixels,
                               std::vector<int32_t> labels, std::vector<std::string> names)
    : pixels_(std::move(pixels)),
      labels_(std::move(labels)),
      names_(std::move(names)),
      augmentation_(options.augmentation),
      values_(static_cast<size_t>(pixels_->channels)) {
  require<ValueError>(augmentation_.crop >= 0 && augmentation_.erase >= 0 &&
                          augmentation_.erase <= 1 &&
                          augmentation_.crop <= std::max(pixels_->height, pixels_->width),
                      "LabelledImages: expected a border of at most the image's size and a share "
                      "of erased images, found {} and {}",
                      augmentation_.crop, augmentation_.erase);
  for (size_t channel = 0; channel < values_.size(); ++channel) {
    const double mean = of_channel(options.mean, "mean", channel, values_.size());
    const double deviation = of_channel(options.deviation, "deviation", channel, values_.size());
    require<ValueError>(deviation > 0, "LabelledImages: expected a positive deviation, found {}",
                        deviation);
    for (size_t byte = 0; byte < 256; ++byte)
      values_[channel][byte] =
          static_cast<float>((static_cast<double>(byte) / 255 - mean) / deviation);
  }
}

LabelledImages LabelledImages::from_idx(const LabelledImagesOptions& options,
                                        const fs::path& images, const fs::path& labels,
                                        int64_t classes) {
  const IdxArray pixels = read_idx(open_bytes(images), images.string(), 3);
  const IdxArray numbers = read_idx(open_bytes(labels), labels.string(), 1);
  require<FileError>(pixels.shape[0] == numbers.shape[0],
                     "{}: expected a label for each of {} images, found {}", labels.string(),
                     pixels.shape[0], numbers.shape[0]);
  require<FileError>(!pixels.values.empty() && pixels.shape[1] <= kMaxPixels / pixels.shape[2],
                     "{}: expected images of at most {} pixels, found {} of {} x {}",
                     images.string(), kMaxPixels, pixels.shape[0], pixels.shape[1],
                     pixels.shape[2]);
  std::vector<int32_t> own;
  for (const uint8_t label : numbers.values) {
    require<FileError>(classes == 0 || label < classes,
                       "{}: expected labels from 0 to {}, found {} for image {}", labels.string(),
                       classes - 1, label, own.size());
    own.push_back(label);
  }
  return {options, idx_pixels(options, pixels), std::move(own), {}};
}

LabelledImages LabelledImages::from_folder(const LabelledImagesOptions& options,
                                           const fs::path& folder,
                                           const std::vector<std::string>& names) {
  const auto folders =
      sorted_entries(folder, [](const fs::directory_entry& entry) { return entry.is_directory(); });
  require<FileError>(!folders.empty(), "{}: expected a folder for each class, found none",
                     folder.string());
  std::vector<std::string> classes = names;
  if (names.empty())
    for (const auto& path : folders) classes.push_back(path.filename().string());
  std::vector<fs::path> files;
  std::vector<int32_t> labels;
  for (const auto& path : folders) {
    const std::string name = path.filename().string();
    const auto found = std::find(classes.begin(), classes.end(), name);
    const std::vector<std::string_view> views(classes.begin(), classes.end());
    require<FileError>(found != classes.end(), "{}: no class '{}' among {}{}", path.string(), name,
                       classes.size(), nearest_hint(name, views));
    const auto own = sorted_entries(
        path, [](const fs::directory_entry& entry) { return is_image(entry.path()); });
    require<FileError>(!own.empty(), "{}: expected PNG or JPEG files, found none", path.string());
    files.insert(files.end(), own.begin(), own.end());
    labels.resize(files.size(), static_cast<int32_t>(found - classes.begin()));
  }
  return {options, file_pixels(options, std::move(files)), std::move(labels), std::move(classes)};
}

Batch LabelledImages::collate(std::span<const int64_t> examples, RandomKey key) const {
  check_examples(examples, size());
  const PixelSource& image = *pixels_;
  const int64_t count = image.channels * image.height * image.width;
  Batch batch;
  batch.tokens = batch.target_count = static_cast<int64_t>(examples.size());
  batch.input.pixel_values = empty({batch.tokens, image.channels, image.height, image.width});
  float* values = batch.input.pixel_values.mutable_data<float>();
  std::vector<uint8_t> planes(static_cast<size_t>(count));
  std::vector<int64_t> targets;
  const int64_t border = augmentation_.crop;
  for (const int64_t example : examples) {
    image.read(example, planes.data());
    Draws draws(key, example);
    const bool flip = augmentation_.flip && draws.below(2) == 1;
    const int64_t down = draws.below(2 * border + 1), right = draws.below(2 * border + 1);
    write_values(image, planes.data(), {flip, down, right}, border, values_, values);
    if (draws.uniform() < augmentation_.erase) erase_rectangle(image, draws, values);
    targets.push_back(labels_[static_cast<size_t>(example)]);
    values += count;
  }
  batch.targets = from_vector(targets, {batch.tokens});
  return batch;
}

}  // namespace glassformer
