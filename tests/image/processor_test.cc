// Image processors against those of transformers, bit for bit, and configurations that are wrong.

#include "glassformer/image/processor.h"

#include <fstream>

#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "image/fixture_image.h"
#include "support/scratch_folder.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

ImageProcessor load(const std::string& config) {
  const ScratchFolder folder;
  write_text(folder.path() / "preprocessor_config.json", config);
  return ImageProcessor::load(folder.path());
}

std::vector<float> floats(const Fixture& fixture, const std::string& name) {
  const std::vector<double> values = fixture.doubles(name);
  return {values.begin(), values.end()};
}

TEST(ImageProcessor, IsTransformers) {
  const Fixture fixture = Fixture::load("image/processor.safetensors");
  const auto configs = fixture.meta_json("configs");
  for (const auto& [name, config] : configs.items()) {
    const ImageProcessor processor = load(config.dump());
    for (const std::string source : fixture.meta_json("sources")) {
      SCOPED_TRACE(name + " " + source);
      const Tensor values = processor(fixture_image(fixture, source));
      const std::string expected = name + "." + source;
      EXPECT_EQ(values.shape(), Shape(std::span(fixture.shape(expected))));
      EXPECT_EQ(values.to_vector<float>(), floats(fixture, expected));
    }
  }
}

TEST(ImageProcessor, BatchIsItsImages) {
  const Fixture fixture = Fixture::load("image/processor.safetensors");
  const ImageProcessor processor = load(fixture.meta_json("configs").at("deit").dump());
  const std::vector<Image> images{fixture_image(fixture, "wide"), fixture_image(fixture, "tall")};
  const Tensor batch = processor(images);
  EXPECT_EQ(batch.shape(), Shape({2, 3, 16, 15}));
  std::vector<float> both = floats(fixture, "deit.wide");
  const std::vector<float> tall = floats(fixture, "deit.tall");
  both.insert(both.end(), tall.begin(), tall.end());
  EXPECT_EQ(batch.to_vector<float>(), both);
}

TEST(ImageProcessor, RefusesABatchOfSeveralSizes) {
  const ImageProcessor processor({.do_resize = false});
  const std::vector<Image> images{Image(4, 3), Image(3, 4)};
  expect_throws<ShapeError>([&] { processor(images); }, "found 4 x 3 and 3 x 4");
  expect_throws<ShapeError>([&] { processor(std::vector<Image>{}); }, "found none");
}

TEST(ImageProcessor, ConfigOfTheModelTellsTheTypeWhereItIsMissing) {
  const ScratchFolder folder;
  write_text(folder.path() / "preprocessor_config.json", R"({"size": 20})");
  expect_throws<FileError>([&] { ImageProcessor::load(folder.path()); },
                           {"image_processor_type", "config.json"});
  write_text(folder.path() / "config.json", R"({"model_type": "clip"})");
  EXPECT_EQ(ImageProcessor::load(folder.path()).options().shortest_edge, 20);
  write_text(folder.path() / "config.json", R"({"model_type": "bert"})");
  expect_throws<FileError>([&] { ImageProcessor::load(folder.path()); }, {"config.json", "bert"});
}

TEST(ImageProcessor, RefusesWhatItDoesNotKnow) {
  const auto refuses = [](const std::string& fields, std::initializer_list<const char*> parts) {
    SCOPED_TRACE(fields);
    expect_throws<FileError>(
        [&] { load(R"({"image_processor_type": "ViTImageProcessor", )" + fields + "}"); }, parts);
  };
  refuses(R"("size": {"longest_edge": 3})", {"preprocessor_config.json", "'size'", "height"});
  refuses(R"("size": 0)", {"'size'", "found 0"});
  refuses(R"("size": {"height": 1, "width": 1e9})", {"'width'", "1 to 65535"});
  refuses(R"("size": [1, 2, 3])", {"'size'"});
  refuses(R"("resample": 6)", {"'resample'", "found 6"});
  refuses(R"("do_center_crop": true)", {"'crop_size'"});
  refuses(R"("crop_size": {"shortest_edge": 3})", {"'crop_size'"});
  refuses(R"("do_pad": true)", {"'do_pad'"});
  refuses(R"("image_mean": [1, 2])", {"'image_mean'", "three"});
  refuses(R"("image_mean": [1, 2, 1e300])", {"'image_mean'"});
  refuses(R"("image_std": [1, 2, 0])", {"'image_std'", "positive"});
  refuses(R"("do_resize": 1)", {"'do_resize'"});
  expect_throws<FileError>([] { load(R"({"image_processor_type": "DetrImageProcessor"})"); },
                           {"image_processor_type", "DetrImageProcessor", "ViT"});
  expect_throws<FileError>([] { load("[]"); }, "preprocessor_config.json");
  expect_throws<FileError>([] { ImageProcessor::load("/nowhere"); }, "preprocessor_config.json");
  expect_throws<ValueError>([] { ImageProcessor({.height = 0}); }, "found 0 x 224");
}

}  // namespace
}  // namespace glassformer::testing
