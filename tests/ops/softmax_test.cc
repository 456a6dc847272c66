// Softmax where rows hold infinities and NaN.

#include "glassformer/ops/softmax.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"

namespace glassformer::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Wide enough for vectors, a tail and, on cpu, several blocks.
constexpr int64_t kWidth = 8199;

std::vector<float> row_with(float all, float one, size_t at) {
  std::vector<float> row(kWidth, all);
  row[at] = one;
  return row;
}

TEST(Softmax, MaskedElementsWeighNothing) {
  for (const Device device : {Device::kCpu, Device::kRef})
    for (const size_t at : {size_t{0}, size_t{5000}, static_cast<size_t>(kWidth - 1)}) {
      const Tensor x = from_vector(row_with(-kInf, 3, at), {1, kWidth}, device);
      const auto y = softmax(x).to_vector<float>(), log_y = log_softmax(x).to_vector<float>();
      for (size_t i = 0; i < y.size(); ++i) {
        EXPECT_EQ(y[i], i == at ? 1.0F : 0.0F);
        EXPECT_EQ(log_y[i], i == at ? 0.0F : -kInf);
      }
    }
}

TEST(Softmax, RowsWithoutASumAreNan) {
  for (const Device device : {Device::kCpu, Device::kRef})
    for (const auto& row : {row_with(-kInf, -kInf, 0), row_with(0, kNan, 17), row_with(0, kInf, 9),
                            row_with(0, kNan, kWidth - 1)}) {
      const Tensor x = from_vector(row, {1, kWidth}, device);
      for (const float y : softmax(x).to_vector<float>()) ASSERT_TRUE(std::isnan(y));
      for (const float y : log_softmax(x).to_vector<float>()) ASSERT_TRUE(std::isnan(y));
    }
}

// The first numbers of a row say nothing about the rest of it.
TEST(Softmax, RowsThatRise) {
  // What rounding a result below 1 may cost, and four times as much for logarithms. Measured: 5e-8
  // and 8e-8 in float32, 1.9e-3 and 1.9e-3 in bfloat16, 6.2e-5 and 2.1e-4 in float16.
  const std::pair<DType, double> types[] = {
      {DType::kFloat32, 1e-6}, {DType::kBFloat16, 0x1p-9}, {DType::kFloat16, 0x1p-12}};
  for (const auto& [dtype, error] : types)
    for (const float top : {30.0F, 60.0F, 100.0F, 3000.0F, 60000.0F})
      for (const size_t at : {size_t{70}, size_t{5000}, static_cast<size_t>(kWidth - 1)}) {
        std::vector<float> row = row_with(-top, top, at);
        row[at / 2] = top - 2;
        const Tensor x = cast(from_vector(row, {1, kWidth}), dtype);
        const auto y = softmax(x).to_vector<float>(), log_y = log_softmax(x).to_vector<float>();
        const auto places = cast(x, DType::kFloat32).to_vector<float>();
        const double high = places[at], second = places[at / 2];
        const double sum = 1 + std::exp(second - high);
        EXPECT_NEAR(y[at], 1 / sum, error);
        EXPECT_NEAR(y[at / 2], std::exp(second - high) / sum, error);
        EXPECT_NEAR(log_y[at / 2], second - high - std::log(sum), 4 * error);
        EXPECT_NEAR(y[1], 0, 1e-20);
      }
}

// A row of bfloat16 may be written while the next one is read: neighbours of every kind, in results
// that stay in the caches and in some that do not.
TEST(Softmax, RowsAreThoseThatEachGivesAlone) {
  for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{24, 1},
                                    {24, 31},
                                    {24, 64},
                                    {24, 100},
                                    {24, 2081},
                                    {9000, 1024},
                                    {9000, 1000}}) {
    Generator random(7);
    Tensor x = random_normal({rows, width}, random.next(), 0, 3);
    std::vector<float> numbers = x.to_vector<float>();
    const auto spoil = [&](int64_t row, int64_t column, float value) {
      numbers[static_cast<size_t>(row * width + column)] = value;
    };
    for (int64_t row = 0; row + 6 < rows; row += 7) {
      for (int64_t i = 0; i < width; ++i) spoil(row + 1, i, -kInf);
      spoil(row + 2, width - 1, kNan);
      spoil(row + 4, width / 2, 3000);
      for (int64_t i = 0; i + 1 < width; ++i) spoil(row + 5, i, -kInf);
      for (int64_t i = 0; i < width; ++i) spoil(row + 6, i, 1e9F);
    }
    x = cast(from_vector(numbers, {rows, width}), DType::kBFloat16);
    for (const auto& op : {softmax, log_softmax}) {
      const Tensor y = op(x, -1);
      for (int64_t row = 0; row < rows; row += rows < 100 ? 1 : 13) {
        const Tensor alone = op(slice(x, 0, row, row + 1), -1);
        const Tensor beside = slice(y, 0, row, row + 1);
        const auto one = alone.to_vector<float>(), other = beside.to_vector<float>();
        const size_t bytes = one.size() * sizeof(float);
        ASSERT_EQ(std::memcmp(one.data(), other.data(), bytes), 0) << row << " of " << width;
      }
    }
  }
}

// As in a row that an additive mask leaves nothing of.
TEST(Softmax, RowsFarFromZeroAreAsOthers) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16})
    for (const float far : {-3e38F, -1e9F, -1e6F, 1e9F, 3e38F}) {
      const Tensor x = cast(full({1, kWidth}, far, {DType::kFloat32}), dtype);
      const double even = 1.0 / kWidth, error = dtype == DType::kFloat32 ? 1e-6 : 0x1p-8;
      for (const float y : softmax(x).to_vector<float>()) ASSERT_NEAR(y, even, even * error) << far;
    }
}

TEST(Softmax, BadArguments) {
  EXPECT_THROW(softmax(Tensor()), ValueError);
  EXPECT_THROW(softmax(zeros({2, 3}), 2), ShapeError);
  EXPECT_THROW(log_softmax(zeros({2, 3}, {DType::kInt64})), DTypeError);
}

// Large results are written around the caches; rows then begin anywhere in a cache line.
TEST(Softmax, LargeResultsAreTheSame) {
  constexpr int64_t kRows = 4200, kColumns = 1021;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    const int64_t rows = dtype == DType::kFloat32 ? kRows : 2 * kRows;
    const Tensor x = cast(random_normal({rows, kColumns}, {7, 7}), dtype);
    const auto whole = softmax(x).to_vector<float>();
    for (const int64_t row : {int64_t{0}, int64_t{1}, rows / 2, rows - 1}) {
      const auto alone = softmax(slice(x, 0, row, row + 1)).to_vector<float>();
      for (size_t i = 0; i < alone.size(); ++i)
        ASSERT_EQ(whole[static_cast<size_t>(row * kColumns) + i], alone[i]);
    }
  }
}

}  // namespace
}  // namespace glassformer::testing
