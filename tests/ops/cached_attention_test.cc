#include "glassformer/ops/cached_attention.h"

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/compare.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

struct Problem {
  int64_t heads = 4, key_heads = 2, size = 20, value_size = 12, places = 30;
  std::vector<std::vector<int64_t>> rows = {{3}, {}, {7, 1, 0, 29, 12, 4, 4, 9}, {5, 6, 7, 8, 9}};
  Tensor query, keys, values, list, starts;

  explicit Problem(TensorOptions options, int64_t long_row = 0) {
    if (long_row > 0) {
      rows.emplace_back();
      for (int64_t i = 0; i < long_row; ++i) rows.back().push_back(i * 11 % places);
    }
    Generator random(5);
    const auto make = [&](Shape shape) {
      return to(cast(random_normal(shape, random.next()), options.dtype), options.device);
    };
    query = make({int64_t(rows.size()), heads, size});
    keys = make({key_heads, places, size});
    values = make({key_heads, places, value_size});
    std::vector<int64_t> flat, bounds{0};
    for (const auto& row : rows) {
      flat.insert(flat.end(), row.begin(), row.end());
      bounds.push_back(int64_t(flat.size()));
    }
    list = to(from_vector(flat, {int64_t(flat.size())}), options.device);
    starts = to(from_vector(bounds, {int64_t(bounds.size())}), options.device);
  }

  // attention() on sequences of one query each.
  AttentionResult expected(AttentionOptions options) const {
    std::vector<int64_t> each;
    for (size_t i = 0; i <= rows.size(); ++i) each.push_back(int64_t(i));
    options.causal = true;
    options.query_starts = to(from_vector(each, {int64_t(each.size())}), query.device());
    options.key_starts = starts;
    return attention(query, transpose(index_select(keys, 1, list), 0, 1),
                     transpose(index_select(values, 1, list), 0, 1), options);
  }
};

TEST(CachedAttention, IsAttentionOfOneQueryASequence) {
  for (const Device device : {Device::kRef, Device::kCpu}) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat64}) {
      if (device == Device::kRef && dtype == DType::kBFloat16) continue;
      const Problem p({dtype, device}, 150);
      // Measured: 2e-7 in float32, 3e-3 in bfloat16 (its own rounding).
      const double tolerance = dtype == DType::kBFloat16 ? 8e-3 : 1e-6;
      const auto check = [&](const CachedAttentionOptions& ours, const AttentionOptions& theirs) {
        const AttentionResult found =
            cached_attention(p.query, p.keys, p.values, p.list, p.starts, ours);
        const AttentionResult expected = p.expected(theirs);
        EXPECT_LE(distance(found.output, expected.output), tolerance);
        EXPECT_EQ(found.log_sum_exp.shape(), expected.log_sum_exp.shape());
        EXPECT_LE(distance(found.log_sum_exp, expected.log_sum_exp), 2e-6);
      };
      check({}, {});
      check({.scale = 0.3, .softcap = 2}, {.scale = 0.3, .softcap = 2});
      check({.window_left = 3}, {.window_left = 3});
      const Tensor slopes = to(alibi_slopes(4), device);
      check({.alibi_slopes = slopes}, {.alibi_slopes = slopes});
    }
  }
}

TEST(CachedAttention, DistanceBiasIsAlibiWhereItIsLinear) {
  for (const Device device : {Device::kRef, Device::kCpu}) {
    const Problem p({DType::kFloat32, device});
    const Tensor slopes = alibi_slopes(4);
    std::vector<float> table;
    for (const float slope : slopes.to_vector<float>())
      for (int d = 0; d < 10; ++d) table.push_back(-slope * float(d));
    const Tensor bias = to(from_vector(table, {4, 10}), device);
    const AttentionResult found =
        cached_attention(p.query, p.keys, p.values, p.list, p.starts, {.distance_bias = bias});
    const AttentionResult expected = cached_attention(p.query, p.keys, p.values, p.list, p.starts,
                                                      {.alibi_slopes = to(slopes, device)});
    EXPECT_LE(distance(found.output, expected.output), 1e-6);
  }
}

TEST(CachedAttention, BadInputIsNamed) {
  const Problem p({DType::kFloat32, Device::kCpu});
  const auto run = [&](const Tensor& list, const Tensor& starts, CachedAttentionOptions o = {}) {
    return cached_attention(p.query, p.keys, p.values, list, starts, o);
  };
  expect_throws<IndexError>([&] { run(full({14}, 30, {DType::kInt64}), p.starts); },
                            {"places", "0 to 29", "found 30"});
  expect_throws<ShapeError>([&] { run(p.list, slice(p.starts, 0, 0, 3)); }, {"starts", "[5]"});
  expect_throws<IndexError>([&] { run(p.list, full({5}, 1, {DType::kInt64})); }, {"ascend"});
  expect_throws<IndexError>(
      [&] {
        run(p.list, p.starts, {.distance_bias = ones({4, 3})});
      },
      {"distance_bias", "8 keys"});
  expect_throws<ShapeError>(
      [&] {
        cached_attention(p.query, ones({3, 30, 20}), ones({3, 30, 4}), p.list, p.starts);
      },
      {"multiple"});
  const Tensor memory = zeros({1, 3, 2});
  store_rows(memory, from_vector(std::vector<int64_t>{2, 0}, {2}), ones({2, 1, 2}));
  EXPECT_EQ(memory.to_vector<float>(), (std::vector<float>{1, 1, 0, 0, 1, 1}));
  expect_throws<IndexError>(
      [&] {
        store_rows(memory, from_vector(std::vector<int64_t>{3}, {1}), ones({1, 1, 2}));
      },
      {"found 3"});
  expect_throws<ShapeError>(
      [&] {
        store_rows(memory, from_vector(std::vector<int64_t>{0}, {1}), ones({1, 1, 3}));
      },
      {"store_rows"});
}

}  // namespace
}  // namespace glassformer::testing
