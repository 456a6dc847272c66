#include "glassformer/ops/create.h"

#include <cmath>

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/compare.h"

namespace glassformer::testing {
namespace {

constexpr RandomKey kKey{.seed = 0xDEADBEEF12345678, .stream = 5};

TEST(Create, RandomNumbersAreTheSameOnEveryDevice) {
  for (const int64_t count : {1, 31, 33, 100003}) {
    const TensorOptions exact{DType::kFloat64, Device::kRef};
    // Measured: 5.3e-8 and 1.1e-7.
    EXPECT_LE(
        distance(random_uniform({count}, kKey, -2, 3), random_uniform({count}, kKey, -2, 3, exact)),
        1.2e-7);
    EXPECT_LE(
        distance(random_normal({count}, kKey, 1, 2), random_normal({count}, kKey, 1, 2, exact)),
        3e-7);
  }
}

// With few numbers between low and high, rounding would reach high at every other element.
TEST(Create, UniformStaysBelowHigh) {
  for (const Device device : {Device::kRef, Device::kCpu})
    for (const DType dtype :
         {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16}) {
      if (device == Device::kCpu && dtype == DType::kFloat64) continue;
      for (const auto& [low, high] : {std::pair{1024.0, 1025.0}, {-1.0, 0.0}, {-2049.0, -2048.0}}) {
        const auto x = random_uniform({4097}, kKey, low, high, {dtype, device});
        for (const double value : x.to_vector<double>())
          ASSERT_LT(value, high) << name_of(dtype) << " [" << low << ", " << high << ")";
      }
      EXPECT_EQ(random_uniform({3}, kKey, 7, 7, {dtype, device}).to_vector<double>(),
                (std::vector<double>{7, 7, 7}));
    }
}

TEST(Create, SmallNormalsAreRelativelyExact) {
  const int64_t count = 1 << 20;
  const auto found = random_normal({count}, kKey).to_vector<double>();
  const auto exact =
      random_normal({count}, kKey, 0, 1, {DType::kFloat64, Device::kRef}).to_vector<double>();
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i)
    worst = std::max(worst, std::abs(found[i] - exact[i]) / (std::abs(exact[i]) + 1e-6));
  EXPECT_LE(worst, 1e-6);  // measured: 2.4e-7
}

TEST(Create, HalfTypesHoldTheFloatNumbersRounded) {
  const Tensor wide = random_normal({5000}, kKey);
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16})
    EXPECT_TRUE(same_bits(random_normal({5000}, kKey, 0, 1, {dtype}), cast(wide, dtype)));
}

TEST(Create, SameBitsForAnyThreadCount) {
  const int before = num_threads();
  set_num_threads(1);
  const Tensor one = random_normal({200001}, kKey);
  set_num_threads(3);
  EXPECT_TRUE(same_bits(one, random_normal({200001}, kKey)));
  set_num_threads(before);
}

TEST(Create, MomentsOfTheNormal) {
  const Tensor x = random_normal({1 << 20}, kKey, 0.5, 2);
  EXPECT_NEAR(mean(x).item(), 0.5, 0.01);  // five standard deviations
  EXPECT_NEAR(mean(square(x - 0.5)).item(), 4, 0.03);
}

// Streaming and odd tails.
TEST(Create, FillReachesEveryElement) {
  const Tensor x = full({3, 2000003}, 1.5);
  EXPECT_EQ(sum(x - 1.5).item(), 0);
  for (const DType dtype : {DType::kBool, DType::kInt8, DType::kInt64, DType::kBFloat16})
    EXPECT_EQ(full({77}, 1, {dtype}).to_vector<int64_t>(), std::vector<int64_t>(77, 1));
}

}  // namespace
}  // namespace glassformer::testing
