// Labelled images from IDX files and folders, and what augmentation does to them.

#include "glassformer/training/image_data.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "glassformer/image/image.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "training/gzip_file.h"

namespace glassformer::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::string idx(std::initializer_list<int> sizes, int count, int step = 1) {
  std::string text{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  for (const int size : sizes) {
    text += std::string{'\0', '\0'};
    text += static_cast<char>(size / 256);
    text += static_cast<char>(size % 256);
  }
  for (int i = 0; i < count; ++i) text += static_cast<char>(i * step);
  return text;
}

// `count` images of 3 x 4 with bytes that count up, and labels that do.
struct Files {
  explicit Files(int count = 4) {
    write_gzip(folder / "images.gz", idx({count, 3, 4}, count * 12));
    write_bytes(folder / "labels", idx({count}, count));
  }
  LabelledImages open(const LabelledImagesOptions& options = {}) const {
    return LabelledImages::from_idx(options, folder / "images.gz", folder / "labels");
  }
  TemporaryFolder folder;
};

const LabelledImagesOptions kBytes{.mean = {0}, .deviation = {1.0 / 255}};  // as they are

// What an image of the batch became, as bytes.
std::vector<int> bytes_of(const Batch& batch, int64_t row, int64_t size = 12) {
  const auto values = batch.input.pixel_values.to_vector<float>();
  std::vector<int> bytes;
  for (int64_t i = row * size; i < (row + 1) * size; ++i)
    bytes.push_back(static_cast<int>(std::lround(values[static_cast<size_t>(i)])));
  return bytes;
}

TEST(LabelledImages, Idx) {
  const Files files;
  const LabelledImages data = files.open();
  ASSERT_EQ(data.size(), 4);
  const int64_t examples[] = {2, 0};
  const Batch batch = data.collate(examples, {});
  EXPECT_EQ(batch.input.pixel_values.shape(), Shape({2, 1, 3, 4}));
  EXPECT_THAT(batch.targets.to_vector<int64_t>(), ElementsAre(2, 0));
  EXPECT_EQ(batch.tokens, 2);
  const auto values = batch.input.pixel_values.to_vector<float>();
  EXPECT_FLOAT_EQ(values[0], (24.0F / 255 - 0.5F) / 0.5F);
  EXPECT_FLOAT_EQ(values[23], (11.0F / 255 - 0.5F) / 0.5F);
}

TEST(LabelledImages, IdxAtAnotherSize) {
  const Files files;
  const LabelledImages data = files.open({.height = 6, .width = 8, .channels = 3});
  const int64_t examples[] = {1};
  const Batch batch = data.collate(examples, {});
  EXPECT_EQ(batch.input.pixel_values.shape(), Shape({1, 3, 6, 8}));
  const auto values = batch.input.pixel_values.to_vector<float>();
  EXPECT_TRUE(std::equal(values.begin(), values.begin() + 48, values.begin() + 48));
}

TEST(LabelledImages, Folder) {
  const TemporaryFolder folder;
  for (const char* name : {"dog", "cat"}) {
    std::filesystem::create_directory(folder / name);
    Image image(2, 2);
    std::fill(image.pixels.begin(), image.pixels.end(), name[0] == 'c' ? 10 : 200);
    image.pixels[0] = 255;
    write_png(folder / name / "one.PNG", image);
    write_bytes(folder / name / "notes.txt", "no image");
  }
  LabelledImagesOptions options = kBytes;
  options.height = options.width = 2;
  const LabelledImages data = LabelledImages::from_folder(options, folder.path());
  EXPECT_THAT(data.names(), ElementsAre("cat", "dog"));
  const int64_t examples[] = {1, 0};
  const Batch batch = data.collate(examples, {});
  EXPECT_EQ(batch.input.pixel_values.shape(), Shape({2, 3, 2, 2}));
  EXPECT_THAT(batch.targets.to_vector<int64_t>(), ElementsAre(1, 0));
  EXPECT_THAT(bytes_of(batch, 1), ElementsAre(255, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10));

  options.channels = 1;
  const LabelledImages named = LabelledImages::from_folder(options, folder.path(), {"dog", "cat"});
  const Batch grey = named.collate(examples, {});
  EXPECT_THAT(grey.targets.to_vector<int64_t>(), ElementsAre(0, 1));
  EXPECT_THAT(bytes_of(grey, 1, 4), ElementsAre(83, 10, 10, 10));  // (255 * 19595 + ...) / 65536

  write_bytes(folder / "cat" / "one.PNG", "broken");
  const int64_t broken[] = {0};
  expect_throws<FileError>([&] { data.collate(broken, {}); }, "/cat/one.PNG: ");
}

TEST(LabelledImages, FlipAndCrop) {
  const Files files(1);
  LabelledImagesOptions options = kBytes;
  options.augmentation.flip = true;
  const int64_t examples[] = {0};
  int flipped = 0;
  for (uint64_t epoch = 0; epoch < 200; ++epoch) {
    const auto bytes = bytes_of(files.open(options).collate(examples, {1, epoch}), 0);
    const bool is_flipped = bytes[0] == 3;
    EXPECT_THAT(bytes, is_flipped ? ElementsAre(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8)
                                  : ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    flipped += is_flipped;
  }
  EXPECT_NEAR(flipped, 100, 30);

  options.augmentation = {.crop = 1};
  std::set<std::vector<int>> seen;
  for (uint64_t epoch = 0; epoch < 200; ++epoch)
    seen.insert(bytes_of(files.open(options).collate(examples, {1, epoch}), 0));
  EXPECT_EQ(seen.size(), 9U);
  EXPECT_TRUE(seen.contains({5, 6, 7, 0, 9, 10, 11, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(seen.contains({0, 0, 0, 0, 0, 0, 1, 2, 0, 4, 5, 6}));
}

TEST(LabelledImages, AugmentationKnowsNoOtherExamples) {
  const Files files(20);
  LabelledImagesOptions options = kBytes;
  options.augmentation = {.flip = true, .crop = 2, .erase = 0.5};
  const LabelledImages data = files.open(options);
  std::vector<int64_t> all;
  for (int64_t i = 0; i < 20; ++i) all.push_back(i);
  const Batch together = data.collate(all, {1, 5});
  int changed = 0;
  for (const int64_t example : all) {
    const Batch alone = data.collate(std::span(&example, 1), {1, 5});
    EXPECT_EQ(bytes_of(alone, 0), bytes_of(together, example));
    changed += bytes_of(alone, 0) != bytes_of(data.collate(std::span(&example, 1), {1, 6}), 0);
  }
  EXPECT_GT(changed, 10);
}

TEST(LabelledImages, Erases) {
  const TemporaryFolder folder;
  std::string images = idx({1, 32, 32}, 0);
  images += std::string(1024, '\x64');
  write_bytes(folder / "images", images);
  write_bytes(folder / "labels", idx({1}, 1));
  LabelledImagesOptions options = kBytes;
  options.augmentation.erase = 1;
  const LabelledImages data =
      LabelledImages::from_idx(options, folder / "images", folder / "labels");
  const int64_t examples[] = {0};
  for (uint64_t epoch = 0; epoch < 50; ++epoch) {
    const auto bytes = bytes_of(data.collate(examples, {1, epoch}), 0, 1024);
    const auto erased = std::count(bytes.begin(), bytes.end(), 0);
    EXPECT_GE(erased, 10);
    EXPECT_LE(erased, 380);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 100), 1024 - erased);
  }
}

TEST(LabelledImages, RefusesFiles) {
  const Files files;
  const auto& folder = files.folder;
  write_bytes(folder / "few", idx({3}, 3));
  const auto open = [&](const char* labels, const LabelledImagesOptions& options, int64_t classes) {
    LabelledImages::from_idx(options, folder / "images.gz", folder / labels, classes);
  };
  expect_throws<FileError>([&] { open("few", {}, 0); }, {"/few: ", "each of 4 images", "found 3"});
  expect_throws<FileError>([&] { open("labels", {}, 3); },
                           {"/labels: ", "0 to 2", "3 for image 3"});
  expect_throws<FileError>([&] { open("images.gz", {}, 0); }, {"/images.gz: ", "rank 1"});
  expect_throws<ValueError>([&] { open("labels", {.channels = 2}, 0); }, "1 or 3 channels");
  expect_throws<ValueError>([&] { open("labels", {.deviation = {0}}, 0); }, "positive deviation");
  expect_throws<ValueError>([&] { open("labels", {.mean = {0, 0}}, 0); }, "one mean or 1, found 2");
  expect_throws<FileError>([&] { LabelledImages::from_folder({}, folder.path()); }, "found none");
  std::filesystem::create_directory(folder / "cat");
  expect_throws<FileError>([&] { LabelledImages::from_folder({}, folder.path()); },
                           {"/cat: ", "PNG or JPEG"});
  expect_throws<FileError>([&] { LabelledImages::from_folder({}, folder.path(), {"cap"}); },
                           {"/cat: ", "no class 'cat'", "'cap'"});
  write_png(folder / "cat" / "a.png", Image(1, 1));
  expect_throws<ValueError>([&] { LabelledImages::from_folder({}, folder.path()); }, "0 x 0");
}

}  // namespace
}  // namespace glassformer::testing
