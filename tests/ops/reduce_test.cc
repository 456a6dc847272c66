#include "glassformer/ops/reduce.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/compare.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

// One long chain of float additions of 0.1 would be off by 1e-2 here.
TEST(Reduce, LongSumsAreAccurate) {
  const int64_t count = 6000000;
  const Tensor x = full({count}, 0.1F);
  const double exact = static_cast<double>(0.1F) * static_cast<double>(count);
  EXPECT_NEAR(sum(x).item() / exact, 1, 5e-7);  // measured: 1.9e-7
  for (const int64_t width : {2, 3, 100, 1000}) {
    const Tensor columns = sum(reshape(x, {count / width, width}), {0});
    for (const double value : columns.to_vector<double>())
      EXPECT_NEAR(value / exact * static_cast<double>(width), 1, 1.5e-6) << width;  // 6.7e-7
  }
}

TEST(Reduce, SameBitsForAnyThreadCount) {
  const Tensor x = random_normal({3000, 1100}, {5, 0});
  const auto all = [&] {
    return std::vector{sum(x), sum(x, {0}), sum(x, {1}), sum(reshape(x, {30, 100, 1100}), {0, 2}),
                       sum(reshape(x, {1100000, 3}), {0})};
  };
  const int before = num_threads();
  set_num_threads(1);
  const auto one = all();
  for (const int threads : {2, 3, 5}) {
    set_num_threads(threads);
    const auto many = all();
    for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i], many[i])) << i;
  }
  set_num_threads(before);
}

TEST(Reduce, SumOverNothingIsZero) {
  EXPECT_EQ(sum(empty({0})).item(), 0);
  EXPECT_EQ(sum(empty({0, 2}), {0}).to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(Reduce, MaxTakesTheFirstAndNaNWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Device device : {Device::kRef, Device::kCpu}) {
    for (const int64_t width : {5, 16, 40, 100}) {
      std::vector<float> values(static_cast<size_t>(3 * width), 1.0F);
      const auto at = [&](int64_t row, int64_t j) -> float& {
        return values[static_cast<size_t>(row * width + j)];
      };
      at(0, width - 2) = at(0, width - 1) = 2;
      at(1, width / 2) = at(1, width - 1) = nan;
      const Tensor x = from_vector(values, {3, width}, device);
      EXPECT_EQ(argmax(x, 1).to_vector<int64_t>(), (std::vector<int64_t>{width - 2, width / 2, 0}));
      EXPECT_TRUE(std::isnan(max(x, 1).to_vector<float>()[1]));
    }
    const float low = -std::numeric_limits<float>::infinity();
    EXPECT_EQ(argmax(full({1, 50}, low, {DType::kFloat32, device}), 1).item(), 0);
  }
}

TEST(Reduce, Errors) {
  expect_throws<ShapeError>([] { sum(ones({2, 3}), {2}); }, {"sum", "axis", "2"});
  expect_throws<ShapeError>([] { sum_to(ones({2, 3}), {4}); }, {"sum_to", "[4]"});
  expect_throws<ShapeError>([] { sum_to(ones({3}), {2, 3}); }, {"sum_to", "[2, 3]"});
  expect_throws<ShapeError>([] { max(empty({3, 0}), 1); }, {"max", "[3, 0]"});
  expect_throws<ShapeError>([] { mean(empty({0})); }, {"mean", "[0]"});
  expect_throws<DTypeError>([] { sum(zeros({2}, {DType::kInt64})); }, {"sum", "x", "int64"});
}

}  // namespace
}  // namespace glassformer::testing
