#include "glassformer/ops/activation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Activation, Names) {
  EXPECT_STREQ(name_of(Activation::kGeluTanh), "gelu_tanh");
  EXPECT_STREQ(name_of(Activation::kNone), "none");
}

TEST(Activation, LimitsAndNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Device device : {Device::kRef, Device::kCpu}) {
    const Tensor x = from_vector(std::vector<float>{-100, 100, nan, -kInf, kInf}, {5}, device);
    const auto of = [&](Activation f) { return activate(x, f).to_vector<float>(); };
    for (const Activation f : {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
                               Activation::kSilu, Activation::kSigmoid, Activation::kTanh})
      EXPECT_TRUE(std::isnan(of(f)[2])) << name_of(f);
    for (const Activation f :
         {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
      EXPECT_NEAR(of(f)[0], 0, 1e-30) << name_of(f);
      EXPECT_EQ(of(f)[1], 100) << name_of(f);
      EXPECT_EQ(of(f)[4], kInf) << name_of(f);
    }
    EXPECT_EQ(of(Activation::kTanh)[3], -1);
    EXPECT_EQ(of(Activation::kSigmoid)[3], 0);
    EXPECT_EQ(of(Activation::kSigmoid)[4], 1);
  }
}

TEST(Activation, GradientsAreFiniteFarOut) {
  for (const Activation f : {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
                             Activation::kSilu, Activation::kSigmoid, Activation::kTanh}) {
    Tensor x = from_vector(std::vector<float>{-1e30F, -90, 90, 1e30F}, {4}).set_requires_grad();
    backward({activate(x, f)}, {ones({4})});
    for (const float g : x.grad().to_vector<float>())
      EXPECT_LE(std::min(std::abs(g), std::abs(g - 1)), 1e-25F) << name_of(f) << " " << g;
  }
}

TEST(Activation, NoneIsTheTensorItself) {
  const Tensor x = ones({3});
  EXPECT_EQ(activate(x, Activation::kNone).storage(), x.storage());
}

TEST(Activation, Errors) {
  expect_throws<ValueError>([] { relu(Tensor()); }, {"relu", "x"});
  expect_throws<DTypeError>([] { gelu(zeros({2}, {DType::kInt64})); }, {"gelu", "x", "int64"});
  const auto f = Activation::kSilu;
  expect_throws<ShapeError>(
      [&] {
        gated(ones({2, 3}), ones({2, 4}), f);
      },
      {"gated", "up", "[2, 3]", "[2, 4]"});
  expect_throws<ValueError>([&] { gated(ones({2}), Tensor(), f); }, {"gated", "up"});
  expect_throws<DTypeError>([&] { gated(ones({2}), ones({2}, {DType::kBFloat16}), f); },
                            {"gated", "up", "bfloat16"});
  expect_throws<DeviceError>(
      [&] {
        gated(ones({2}), ones({2}, {DType::kFloat32, Device::kRef}), f);
      },
      {"gated", "up", "ref"});
  expect_throws<ShapeError>([&] { gated_packed(ones({2, 3}), f); }, {"gated_packed", "[2, 3]"});
  expect_throws<ShapeError>([&] { gated_packed(ones({}), f); }, {"gated_packed", "rank 1"});
}

}  // namespace
}  // namespace glassformer::testing
