#include "glassformer/tensor/half.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace glassformer::testing {
namespace {

template <class T>
T from_bits(uint32_t bits) {
  T value;
  value.bits = static_cast<uint16_t>(bits);
  return value;
}

template <class T>
class Half : public ::testing::Test {};
using HalfTypes = ::testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(Half, HalfTypes);

TYPED_TEST(Half, EveryPatternComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto wide = static_cast<float>(from_bits<TypeParam>(bits));
    const TypeParam back(wide);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(back))) << bits;
    } else {
      EXPECT_EQ(back.bits, bits);
    }
  }
}

// Between two neighbours: the middle goes to the even one, anything else to the nearer one.
TYPED_TEST(Half, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7FFF; ++bits) {
    const auto low = static_cast<float>(from_bits<TypeParam>(bits));
    const auto high = static_cast<float>(from_bits<TypeParam>(bits + 1));
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const float middle = low + (high - low) / 2;  // exact: half a step fits a float
    if (middle == low) continue;                  // but not below the smallest subnormal float
    const uint32_t even = bits + (bits & 1);
    for (const float sign : {1.0F, -1.0F}) {
      const uint32_t sign_bit = sign < 0 ? 0x8000 : 0;
      ASSERT_EQ(TypeParam(sign * middle).bits, even | sign_bit) << bits;
      ASSERT_EQ(TypeParam(sign * std::nextafter(middle, low)).bits, bits | sign_bit) << bits;
      ASSERT_EQ(TypeParam(sign * std::nextafter(middle, high)).bits, (bits + 1) | sign_bit) << bits;
    }
  }
}

TYPED_TEST(Half, SpecialNumbers) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(static_cast<float>(TypeParam(kInf)), kInf);
  EXPECT_EQ(static_cast<float>(TypeParam(-kInf)), -kInf);
  EXPECT_EQ(static_cast<float>(TypeParam(std::numeric_limits<float>::max())), kInf);
  EXPECT_EQ(TypeParam(-0.0F).bits, 0x8000);
  EXPECT_EQ(static_cast<float>(TypeParam(1.0F)), 1.0F);
}

TEST(Float16, Limits) {
  EXPECT_EQ(static_cast<float>(Float16(65504.0F)), 65504.0F);
  EXPECT_EQ(static_cast<float>(Float16(65519.0F)), 65504.0F);
  EXPECT_TRUE(std::isinf(static_cast<float>(Float16(65520.0F))));
  EXPECT_EQ(Float16(0x1p-24F).bits, 1);
  EXPECT_EQ(Float16(0x1p-25F).bits, 0);
  EXPECT_EQ(Float16(0x1.8p-25F).bits, 1);
}

}  // namespace
}  // namespace glassformer::testing
