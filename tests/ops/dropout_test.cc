#include "glassformer/ops/dropout.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "glassformer/glassformer.h"
#include "support/compare.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

TEST(Dropout, MaskIsTheFieldsOnEveryDevice) {
  constexpr RandomKey kKey{.seed = 0x123456789ABCDEF0, .stream = 0xFEDCBA9876543210};
  for (const double p : {0.1, 0.5, 0.999}) {
    for (const Device device : {Device::kRef, Device::kCpu}) {
      const Tensor x = ones({4099}, {DType::kFloat32, device});
      const auto y = dropout(x, p, kKey).to_vector<float>();
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_EQ(y[i] != 0, philox_word(kKey, i) >= dropout_threshold(p)) << i;
    }
  }
}

TEST(Dropout, KeepsTheMean) {
  const Tensor y = dropout(ones({1 << 20}), 0.25, {.seed = 3});
  EXPECT_NEAR(mean(y).item(), 1, 0.003);  // five standard deviations
  EXPECT_EQ(max(y, 0).item(), static_cast<float>(1 / 0.75));
}

TEST(Dropout, GradientHasTheSameMask) {
  Tensor x = ones({1000}).set_requires_grad();
  const Tensor y = dropout(x, 0.4, {.seed = 9, .stream = 1});
  backward({y}, {ones({1000})});
  EXPECT_TRUE(same_bits(x.grad(), y));
}

TEST(Dropout, TheEnds) {
  const Tensor x = full({5}, INFINITY);
  EXPECT_EQ(dropout(x, 0, {}).storage(), x.storage());
  EXPECT_EQ(dropout(x, 1, {}).to_vector<float>(), std::vector<float>(5, 0));
}

TEST(Dropout, Errors) {
  for (const double p : {-0.1, 1.5, std::nan("")})
    expect_throws<ValueError>([p] { dropout(ones({2}), p, {}); }, {"dropout", "p"});
  expect_throws<DTypeError>([] { dropout(zeros({2}, {DType::kInt64}), 0.5, {}); },
                            {"dropout", "x", "int64"});
}

}  // namespace
}  // namespace glassformer::testing
