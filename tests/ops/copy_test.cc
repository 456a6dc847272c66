#include "glassformer/ops/copy.h"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/compare.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

TEST(Copy, EveryPairOfDtypesLikeRef) {
  const Tensor x = random_uniform({7, 45}, {1, 1}, -100, 100);
  for (int i = 0; i < kDTypeCount; ++i) {
    const Tensor from = cast(x, static_cast<DType>(i));
    for (int j = 0; j < kDTypeCount; ++j) {
      const auto dtype = static_cast<DType>(j);
      const Tensor expected = cast(to(from, Device::kRef), dtype);
      EXPECT_TRUE(same_bits(cast(from, dtype), expected)) << i << " to " << j;
      EXPECT_TRUE(same_bits(cast(transpose(from, 0, 1), dtype), transpose(expected, 0, 1)));
    }
  }
}

// Every bit pattern through the vector conversions, both ways.
TEST(Copy, HalfTypesExhaustively) {
  std::vector<int32_t> numbers(65536);
  std::vector<BFloat16> brain(65536);
  std::vector<Float16> half(65536);
  for (size_t i = 0; i < 65536; ++i) brain[i].bits = half[i].bits = static_cast<uint16_t>(i);
  const Tensor a = from_vector(brain, {65536}), b = from_vector(half, {65536});
  EXPECT_EQ(distance(cast(a, DType::kFloat32), cast(to(a, Device::kRef), DType::kFloat32)), 0);
  EXPECT_EQ(distance(cast(b, DType::kFloat32), cast(to(b, Device::kRef), DType::kFloat32)), 0);
  EXPECT_EQ(distance(cast(cast(a, DType::kFloat32), DType::kBFloat16), a), 0);
  EXPECT_EQ(distance(cast(cast(b, DType::kFloat32), DType::kFloat16), b), 0);
}

// Numbers of every sign, exponent and upper mantissa, about the halfway points among others, in an
// order that mixes them within vectors; enough of them to be written past the caches.
TEST(Copy, RoundsToBFloat16LikeRef) {
  constexpr uint32_t kUpper = 65536, kLower = 136;
  std::vector<float> numbers(size_t{kUpper} * kLower);
  for (uint32_t i = 0; i < numbers.size(); ++i) {
    constexpr uint32_t kNear[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x4000, 0xC000};
    const uint32_t turn = i / kUpper, lower = turn < 8 ? kNear[turn] : turn * 509;
    numbers[i] = std::bit_cast<float>((i * 40503U) << 16 | (lower & 0xFFFFU));
  }
  const Tensor x = from_vector(numbers, {kLower, kUpper});
  const auto bits = [](const Tensor& y) { return y.to_vector<BFloat16>(); };
  const auto same = [](BFloat16 a, BFloat16 b) { return a.bits == b.bits; };
  const auto expected = bits(cast(to(x, Device::kRef), DType::kBFloat16));
  EXPECT_TRUE(std::ranges::equal(bits(cast(x, DType::kBFloat16)), expected, same));
  const auto few = bits(cast(slice(x, 0, 0, 8), DType::kBFloat16));
  EXPECT_TRUE(std::ranges::equal(few, std::span(expected).first(few.size()), same));
}

TEST(Copy, LargeTransposes) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat64, DType::kInt8}) {
    const Tensor x = cast(random_uniform({2112, 2051}, {4, 4}, -50, 50), dtype);
    const Tensor y = contiguous(transpose(x, 0, 1));
    EXPECT_TRUE(same_bits(transpose(y, 0, 1), x));
    for (const int64_t row : {0, 63, 1999, 2050})
      EXPECT_TRUE(same_bits(select(y, 0, row), clone(select(x, 1, row))));
  }
}

TEST(Copy, IntoViews) {
  Tensor to = zeros({4, 6});
  copy_(transpose(slice(to, 1, 1, 4), 0, 1), random_normal({3, 4}, {1, 0}));
  EXPECT_TRUE(same_bits(slice(to, 1, 1, 4), transpose(random_normal({3, 4}, {1, 0}), 0, 1)));
  EXPECT_EQ(sum(slice(to, 1, 4, 6)).item(), 0);
  copy_(to, full({6}, 2));
  EXPECT_EQ(sum(to).item(), 48);
}

TEST(Copy, Errors) {
  expect_throws<ShapeError>([] { copy_(zeros({3}), zeros({2, 3})); }, {"copy_", "into"});
  expect_throws<DeviceError>([] { copy_(zeros({3}), to(zeros({3}), Device::kRef)); },
                             {"copy_", "from"});
  expect_throws<ValueError>([] { clone(Tensor()); }, {"clone", "x"});
}

}  // namespace
}  // namespace glassformer::testing
