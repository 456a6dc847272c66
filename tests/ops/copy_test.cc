#include "glassformer/ops/copy.h"

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
