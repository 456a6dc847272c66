// Resizing against Pillow's, bit for bit.

#include "glassformer/image/resize.h"

#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "glassformer/base/threads.h"
#include "image/fixture_image.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

TEST(ImageResize, EveryFilterIsPillows) {
  const Fixture fixture = Fixture::load("image/resize.safetensors");
  const Image source = fixture_image(fixture, "source");
  const auto filters = fixture.meta_json("filters");
  for (const std::string& name : fixture.tensors()) {
    if (name == "source") continue;
    SCOPED_TRACE(name);
    const Image expected = fixture_image(fixture, name);
    const auto filter =
        static_cast<Resample>(filters.at(name.substr(0, name.find('.'))).get<int>());
    const Image resized = resize(source, expected.width, expected.height, filter);
    EXPECT_EQ(resized.width, expected.width);
    EXPECT_EQ(resized.height, expected.height);
    EXPECT_EQ(resized.pixels, expected.pixels);
  }
}

TEST(ImageResize, SameBitsForAnyNumberOfThreads) {
  const Image source = fixture_image(Fixture::load("image/resize.safetensors"), "source");
  const int before = num_threads();
  set_num_threads(1);
  const Image one = resize(source, 130, 110, Resample::kBicubic);
  set_num_threads(7);
  EXPECT_EQ(resize(source, 130, 110, Resample::kBicubic).pixels, one.pixels);
  set_num_threads(before);
}

TEST(ImageResize, SameSizeIsTheSameImage) {
  const Image source = fixture_image(Fixture::load("image/resize.safetensors"), "source");
  for (int filter = 0; filter < 6; ++filter)
    EXPECT_EQ(resize(source, source.width, source.height, static_cast<Resample>(filter)).pixels,
              source.pixels);
}

TEST(ImageResize, RefusesSizesThatMakeNoSense) {
  const Image image(2, 2);
  expect_throws<ValueError>([&] { resize(image, 0, 2, Resample::kBox); }, "found 0 x 2");
  expect_throws<ValueError>([&] { resize(image, 1 << 20, 1 << 20, Resample::kNearest); },
                            "at most 178956970 pixels");
  expect_throws<ValueError>([&] { resize(Image(), 2, 2, Resample::kBox); }, "an empty one");
  expect_throws<ValueError>([&] { resize(image, 3, 3, static_cast<Resample>(6)); }, "number 6");
  expect_throws<ValueError>([&] { center_crop(image, 2, -1); }, "found 2 x -1");
}

// 1 2 3 4 5 in a row.
Image counted(int64_t width) {
  Image image(width, 1);
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>(i / 3 + 1);
  return image;
}

std::vector<int> reds(const Image& image) {
  std::vector<int> values;
  for (size_t i = 0; i < image.pixels.size(); i += 3) values.push_back(image.pixels[i]);
  return values;
}

TEST(ImageCrop, CutsOrPadsEvenly) {
  EXPECT_EQ(reds(center_crop(counted(5), 2, 1)), (std::vector<int>{2, 3}));
  EXPECT_EQ(reds(center_crop(counted(4), 2, 1)), (std::vector<int>{2, 3}));
  EXPECT_EQ(reds(center_crop(counted(2), 5, 1)), (std::vector<int>{0, 0, 1, 2, 0}));
  EXPECT_EQ(reds(center_crop(counted(4), 2, 3)), (std::vector<int>{0, 0, 2, 3, 0, 0}));
}

}  // namespace
}  // namespace glassformer::testing
