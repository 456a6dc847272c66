// The losses against PyTorch's values and gradients.

#include <gtest/gtest.h>

#include "support/torch_fixture.h"

namespace glassformer::testing {
namespace {

Reduction reduction_of(const Fixture& fixture) {
  const auto name = fixture.attribute_or<std::string>("reduction", "mean");
  return name == "sum" ? Reduction::kSum : name == "none" ? Reduction::kNone : Reduction::kMean;
}

void expect_both(const std::string& prefix, const RunFixture& run) {
  expect_torch_fixtures(prefix, {Device::kCpu, DType::kFloat32, 1e-6}, run);
  expect_torch_fixtures(prefix, {Device::kRef, DType::kFloat64, 2e-15}, run);
}

// Measured, the largest error over the largest number: 2.1e-7 on cpu, 5.6e-16 on ref.
TEST(LossFixtures, CrossEntropy) {
  expect_both("cross_entropy_", [](const Fixture& fixture, const FixtureInputs& in) {
    return cross_entropy(in("input"), in("target"),
                         {.label_smoothing = fixture.attribute_or("label_smoothing", 0.0),
                          .ignore_index = fixture.attribute_or<int64_t>("ignore_index", -100),
                          .class_weights = in("weight"),
                          .reduction = reduction_of(fixture)});
  });
}

// 1.1e-7 on cpu, 1.4e-16 on ref.
TEST(LossFixtures, Mse) {
  expect_both("mse_", [](const Fixture& fixture, const FixtureInputs& in) {
    return mse_loss(in("input"), in("target"), reduction_of(fixture));
  });
}

// 1.2e-7 on cpu, 2.1e-16 on ref.
TEST(LossFixtures, BinaryCrossEntropyWithLogits) {
  expect_both("bce_with_logits_", [](const Fixture& fixture, const FixtureInputs& in) {
    return binary_cross_entropy_with_logits(in("input"), in("target"),
                                            {.pos_weight = in("pos_weight"),
                                             .weight = in("weight"),
                                             .reduction = reduction_of(fixture)});
  });
}

}  // namespace
}  // namespace glassformer::testing
