#include "glassformer/tensor/shape.h"

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

TEST(Shape, CountsAndStrides) {
  EXPECT_EQ(count_of({}), 1);
  EXPECT_EQ(count_of({2, 3, 4}), 24);
  EXPECT_EQ(count_of({2, 0, 4}), 0);
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ((Shape{2, 3}).str(), "[2, 3]");
  EXPECT_EQ(Shape{}.str(), "[]");
}

TEST(Shape, NegativeAndOverflowingSizes) {
  expect_throws<ShapeError>([] { count_of({2, -1}); }, {"[2, -1]", "-1"});
  expect_throws<ShapeError>([] { count_of({int64_t{1} << 40, int64_t{1} << 40}); }, {"2^62"});
  expect_throws<ShapeError>([] { count_of({-1, 0}); }, {"-1"});
  // No overflow where an axis is empty.
  EXPECT_EQ(count_of({int64_t{1} << 40, int64_t{1} << 40, 0}), 0);
  expect_throws<ShapeError>([] { empty({-3}); }, {"-3"});
  expect_throws<ShapeError>([] { empty({int64_t{1} << 61}, {DType::kFloat64}); }, {"2^62"});
  expect_throws<MemoryError>([] { empty({int64_t{1} << 58}); }, {"cpu", "bytes"});
}

TEST(Shape, RankIsLimited) {
  expect_throws<ShapeError>([] { Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}); }, {"8"});
  expect_throws<ShapeError>([] { unsqueeze(ones({1, 1, 1, 1, 1, 1, 1, 1}), 0); }, {"8"});
}

TEST(Shape, Broadcast) {
  EXPECT_EQ(broadcast_shapes("op", {2, 1, 3}, {4, 1}), (Shape{2, 4, 3}));
  EXPECT_EQ(broadcast_shapes("op", {}, {5}), (Shape{5}));
  EXPECT_EQ(broadcast_shapes("op", {0}, {1}), (Shape{0}));
  expect_throws<ShapeError>([] { broadcast_shapes("op", {2}, {3}); }, {"op", "[2]", "[3]"});
}

TEST(Shape, Axes) {
  EXPECT_EQ(normalize_axis("op", -1, 3), 2);
  expect_throws<ShapeError>([] { normalize_axis("op", 3, 3); }, {"op", "3"});
  expect_throws<ShapeError>([] { normalize_axis("op", -4, 3); }, {"op", "-4"});
  expect_throws<ShapeError>([] { normalize_axis("op", 0, 0); }, {"op"});
}

}  // namespace
}  // namespace glassformer::testing
