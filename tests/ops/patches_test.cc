#include "glassformer/ops/patches.h"

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/throws.h"
#include "support/torch_fixture.h"

namespace glassformer::testing {
namespace {

TEST(Patches, AreReadRowByRowAndChannelByChannel) {
  // Two channels of 2×4 pixels, in patches of 2×2.
  const Tensor image = from_vector<float>({0, 1, 2, 3, 4, 5, 6, 7,  //
                                           10, 11, 12, 13, 14, 15, 16, 17},
                                          {1, 2, 2, 4});
  EXPECT_EQ(extract_patches(image, 2, 2).to_vector<float>(),
            (std::vector<float>{0, 1, 4, 5, 10, 11, 14, 15,  //
                                2, 3, 6, 7, 12, 13, 16, 17}));
}

Tensor run(const Fixture&, const FixtureInputs& in) {
  return patch_embedding(in("image"), in("weight"), in("bias"));
}

TEST(PatchEmbeddingFixture, AgreesWithPyTorch) {
  expect_torch_fixtures("patch_embedding", {Device::kCpu, DType::kFloat32, 1e-6}, run);
  expect_torch_fixtures("patch_embedding", {Device::kRef, DType::kFloat64, 1e-14}, run);
}

TEST(Patches, EmbeddingThrowsForBadArguments) {
  const Tensor image = zeros({1, 3, 8, 6}), weight = zeros({5, 3, 4, 3});
  EXPECT_EQ(patch_embedding(image, weight, zeros({5})).shape(), (Shape{1, 4, 5}));
  expect_throws<ShapeError>([&] { patch_embedding(zeros({3, 8, 6}), weight); }, "image of rank 4");
  expect_throws<ShapeError>([&] { patch_embedding(image, zeros({5, 36})); }, "weight of rank 4");
  expect_throws<ShapeError>(
      [&] {
        patch_embedding(image, zeros({5, 1, 4, 3}));
      },
      "weight of 3 channels like image");
  expect_throws<ShapeError>([&] { patch_embedding(image, zeros({5, 3, 3, 3})); }, "3×3");
  expect_throws<ValueError>([&] { patch_embedding(image, zeros({5, 3, 0, 3})); }, "height");
  expect_throws<ShapeError>([&] { patch_embedding(image, weight, zeros({4})); }, "bias");
  expect_throws<DTypeError>([&] { patch_embedding(image, cast(weight, DType::kFloat64)); },
                            "patch_embedding: expected weight");
  expect_throws<DeviceError>([&] { patch_embedding(image, to(weight, Device::kRef)); }, "weight");
}

TEST(Patches, ThrowForBadArguments) {
  const Tensor image = zeros({1, 3, 8, 6});
  EXPECT_EQ(extract_patches(image, 4, 3).shape(), (Shape{1, 4, 36}));
  expect_throws<ShapeError>([&] { extract_patches(zeros({3, 8, 6}), 2, 2); }, "image of rank 4");
  expect_throws<DTypeError>([&] { extract_patches(cast(image, DType::kInt8), 2, 2); }, "image");
  expect_throws<ValueError>([&] { extract_patches(image, 0, 2); }, "found 0 and 2");
  expect_throws<ShapeError>([&] { extract_patches(image, 3, 2); },
                            "patches of 3×2 divide evenly, found shape [1, 3, 8, 6]");
  expect_throws<ShapeError>([&] { extract_patches(image, 4, 5); }, "4×5");
}

}  // namespace
}  // namespace glassformer::testing
