#include "glassformer/ops/pointwise.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/compare.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Pointwise, LogOfEveryMagnitude) {
  std::vector<float> values;
  for (double x = 2e-45; x < 1e38; x *= 1.37) values.push_back(static_cast<float>(x));
  const auto found =
      log(from_vector(values, {static_cast<int64_t>(values.size())})).to_vector<float>();
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double exact = std::log(static_cast<double>(values[i]));
    worst = std::max(worst, std::abs(found[i] - exact) / std::max(1e-3, std::abs(exact)));
  }
  EXPECT_LE(worst, 1.5e-7);  // measured: 5.8e-8
}

TEST(Pointwise, SpecialNumbers) {
  for (const Device device : {Device::kRef, Device::kCpu}) {
    const Tensor x = from_vector(std::vector<float>{0, -1, kInf, 1}, {4}, device);
    const auto logs = log(x).to_vector<float>();
    EXPECT_EQ(logs[0], -kInf);
    EXPECT_TRUE(std::isnan(logs[1]));
    EXPECT_EQ(logs[2], kInf);
    EXPECT_EQ(logs[3], 0);
    EXPECT_TRUE(std::isnan(sqrt(x).to_vector<float>()[1]));
    EXPECT_EQ(exp(from_vector(std::vector<float>{-kInf}, {1}, device)).item(), 0);
    const Tensor nan = from_vector(std::vector<float>{std::nanf("")}, {1}, device);
    EXPECT_TRUE(std::isnan(clamp(nan, 0, 1).item()));
  }
}

TEST(Pointwise, ClampPassesItsBounds) {
  Tensor x = from_vector(std::vector<float>{-2, -1, 0, 1, 2}, {5}).set_requires_grad();
  const Tensor y = clamp(x, -1, 1);
  backward({y}, {ones({5})});
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{-1, -1, 0, 1, 1}));
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 1, 1, 1, 0}));
}

// A branch that is not taken may hold anything.
TEST(Pointwise, WhereLeavesTheOtherBranchAlone) {
  const Tensor condition = from_vector(std::vector<bool>{true, false}, {2});
  Tensor a = from_vector(std::vector<float>{1, kInf}, {2}).set_requires_grad();
  const Tensor y = where(condition, a, from_vector(std::vector<float>{std::nanf(""), 2}, {2}));
  backward({y}, {ones({2})});
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{1, 0}));
}

TEST(Pointwise, Errors) {
  const Tensor yes = ones({2}, {DType::kBool});
  expect_throws<DTypeError>([] { exp(zeros({2}, {DType::kInt32})); }, {"exp", "x", "int32"});
  expect_throws<ValueError>([] { log(Tensor()); }, {"log", "x"});
  expect_throws<ValueError>([] { clamp(ones({2}), 1, 0); }, {"clamp", "1", "0"});
  expect_throws<ValueError>([] { clamp(ones({2}), std::nan(""), 0); }, {"clamp"});
  expect_throws<DTypeError>([] { where(ones({2}), ones({2}), ones({2})); },
                            {"where", "condition", "bool"});
  expect_throws<DTypeError>([&] { where(yes, ones({2}), ones({2}, {DType::kFloat64})); },
                            {"where", "b", "float64"});
  expect_throws<ShapeError>([&] { where(yes, ones({3}), ones({1})); }, {"where", "[3]", "[2]"});
  expect_throws<DeviceError>([&] { where(to(yes, Device::kRef), ones({2}), ones({2})); },
                             {"where", "condition", "ref"});
}

}  // namespace
}  // namespace glassformer::testing
