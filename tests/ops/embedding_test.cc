#include "glassformer/ops/embedding.h"

#include <gtest/gtest.h>

#include "support/throws.h"
#include "support/torch_fixture.h"

namespace glassformer::testing {
namespace {

Tensor run(const Fixture& fixture, const FixtureInputs& in) {
  std::optional<int64_t> padding_idx;
  if (fixture.has_attribute("padding_idx")) padding_idx = fixture.attribute("padding_idx");
  return embedding(in("weight"), in("ids"), padding_idx);
}

TEST(EmbeddingFixture, AgreesWithPyTorch) {
  // Measured: 6.8e-8 and 0.
  expect_torch_fixtures("embedding", {Device::kCpu, DType::kFloat32, 5e-7}, run);
  expect_torch_fixtures("embedding", {Device::kRef, DType::kFloat64, 1e-14}, run);
}

// Gradients so large that they are written past the caches: rows of whole lines and others, ids
// that stand nowhere, once, a few times and very often.
TEST(Embedding, LargeGradientsAreTheSums) {
  constexpr int64_t kRows = 66000, kCount = 40000;
  std::vector<int64_t> list(kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    const int64_t spread = i * 7919 % kRows;
    list[static_cast<size_t>(i)] = i % 9 == 0 ? 5 : i % 2 == 0 ? spread : spread / 16;
  }
  const Tensor ids = from_vector(list, {kCount});
  for (const auto& [dtype, width] : {std::pair{DType::kFloat32, 64},
                                     {DType::kFloat32, 71},
                                     {DType::kBFloat16, 160},
                                     {DType::kBFloat16, 136}}) {
    // Small whole numbers: every sum is exact.
    std::vector<float> numbers(kCount * static_cast<size_t>(width));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 3) - 1;
    std::vector<float> expected(kRows * static_cast<size_t>(width));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto row = static_cast<size_t>(list[i / static_cast<size_t>(width)]);
      expected[row * static_cast<size_t>(width) + i % static_cast<size_t>(width)] += numbers[i];
    }
    const Tensor weight = zeros({kRows, width}, {dtype}).set_requires_grad();
    backward({embedding(weight, ids)}, {cast(from_vector(numbers, {kCount, width}), dtype)});
    const Tensor rounded = cast(from_vector(expected, {kRows, width}), dtype);
    EXPECT_EQ(cast(weight.grad(), DType::kFloat32).to_vector<float>(),
              cast(rounded, DType::kFloat32).to_vector<float>())
        << name_of(dtype) << " " << width;
  }
}

// As much work as any other list, and not the square of it.
TEST(Embedding, OneIdMayStandEverywhere) {
  constexpr int64_t kCount = 4'000'000;
  const Tensor ids = full({kCount}, 1, {DType::kInt64});
  const Tensor weight = zeros({3, 1}).set_requires_grad();
  backward({embedding(weight, ids)}, {full({kCount, 1}, 0.5)});
  EXPECT_EQ(weight.grad().to_vector<float>(), (std::vector<float>{0, kCount / 2, 0}));
}

TEST(Embedding, ThrowsForAnIdOutsideTheTable) {
  for (Device device : {Device::kCpu, Device::kRef}) {
    const Tensor weight = zeros({5, 2}, {DType::kFloat32, device});
    const auto look_up = [&](int64_t bad) {
      return embedding(weight, from_vector<int64_t>({0, 1, 2, bad}, {2, 2}, device));
    };
    EXPECT_NO_THROW(look_up(4));
    expect_throws<IndexError>([&] { look_up(5); },
                              "embedding: expected ids from 0 to 4, found 5 at [1, 1]");
    expect_throws<IndexError>([&] { look_up(-1); }, "found -1 at [1, 1]");
    expect_throws<IndexError>([&] { look_up(INT64_MIN); }, "found -9223372036854775808");
    const Tensor small = cast(from_vector<int64_t>({7}, {1}, device), DType::kInt32);
    expect_throws<IndexError>([&] { embedding(weight, small); }, "found 7 at [0]");
  }
}

TEST(Embedding, ThrowsForBadArguments) {
  const Tensor weight = zeros({5, 2}), ids = zeros({3}, {DType::kInt64});
  expect_throws<ValueError>([&] { embedding(Tensor(), ids); }, "weight");
  expect_throws<DTypeError>([&] { embedding(cast(weight, DType::kInt64), ids); }, "weight");
  expect_throws<ShapeError>([&] { embedding(zeros({5}), ids); }, "weight of rank 2");
  expect_throws<DTypeError>([&] { embedding(weight, zeros({3})); }, "ids of dtype int64 or int32");
  expect_throws<DeviceError>([&] { embedding(weight, to(ids, Device::kRef)); }, "ids");
  expect_throws<IndexError>([&] { embedding(weight, ids, 5); }, "padding_idx from 0 to 4, found 5");
  expect_throws<IndexError>([&] { embedding(weight, ids, -1); }, "found -1");
}

TEST(Embedding, AnEmptyTableHoldsNoId) {
  EXPECT_EQ(embedding(zeros({0, 3}), zeros({0}, {DType::kInt64})).shape(), (Shape{0, 3}));
  expect_throws<IndexError>([] { embedding(zeros({0, 3}), zeros({1}, {DType::kInt64})); }, "ids");
}

}  // namespace
}  // namespace glassformer::testing
