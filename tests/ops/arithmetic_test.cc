#include "glassformer/ops/arithmetic.h"

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/compare.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

TEST(Arithmetic, InPlaceIsTheSameAsOutOfPlace) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    const TensorOptions options{dtype};
    const Tensor a = random_normal({37, 65}, {1, 0}, 0, 1, options);
    const Tensor b = random_normal({65}, {1, 1}, 0, 1, options);
    Tensor into = clone(a);
    add_(into, b);
    EXPECT_TRUE(same_bits(into, add(a, b)));
    add_(into, into);
    EXPECT_TRUE(same_bits(into, add(a, b) * 2));
    scale_(into, 0.5);
    EXPECT_TRUE(same_bits(into, add(a, b)));
  }
}

// Large enough for streaming stores, with an odd tail.
TEST(Arithmetic, LargeResultsAgreeWithSmallOnes) {
  const Tensor a = random_normal({2049, 2053}, {2, 0}), b = random_normal({2053}, {2, 1});
  const Tensor all = multiply(a, b);
  for (const int64_t row : {0, 1000, 2048})
    EXPECT_TRUE(same_bits(select(all, 0, row), multiply(select(a, 0, row), b)));
  EXPECT_TRUE(same_bits(slice(flatten(a + a), 0, 4000000, 4000100),
                        slice(flatten(a), 0, 4000000, 4000100) * 2));
}

TEST(Arithmetic, OnlyTheNeededGradientIsMade) {
  Tensor a = ones({3}).set_requires_grad();
  const Tensor b = ones({2, 3});
  for (const auto& y : {a + b, b - a, a * b, b / a}) backward({y}, {ones({2, 3})});
  EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_FALSE(b.grad().defined());
}

TEST(Arithmetic, Errors) {
  expect_throws<ShapeError>([] { add(ones({2, 3}), ones({4})); }, {"add", "[2, 3]", "[4]"});
  expect_throws<DTypeError>([] { add(zeros({2}, {DType::kInt64}), zeros({2}, {DType::kInt64})); },
                            {"add", "a", "int64"});
  expect_throws<DTypeError>([] { multiply(ones({2}), ones({2}, {DType::kFloat64})); },
                            {"multiply", "b", "float64"});
  expect_throws<DeviceError>(
      [] {
        divide(ones({2}), ones({2}, {DType::kFloat32, Device::kRef}));
      },
      {"divide", "b", "ref"});
  expect_throws<ValueError>([] { subtract(Tensor(), ones({2})); }, {"subtract", "a"});
  expect_throws<ShapeError>([] { add_(ones({3}), ones({2, 3})); }, {"add_", "into", "[2, 3]"});
  expect_throws<AutogradError>([] { scale_(ones({3}).set_requires_grad(), 2); }, {"scale_"});
}

}  // namespace
}  // namespace glassformer::testing
