// The weights that are computed again from the log-sum-exp, over every kind of mask, against the
// naive kernel in float64 on the same numbers.

#include <cmath>

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/compare.h"

namespace glassformer::testing {
namespace {

struct MaskCase {
  const char* name;
  int64_t batch = 2, heads = 4, key_heads = 4, queries = 70, keys = 70;
  AttentionOptions options = {};
};

Tensor on(const Tensor& x, Device device) { return x.defined() ? to(x, device) : x; }

// Options whose tensors lie on `device`, floating ones in `dtype`.
AttentionOptions moved(AttentionOptions options, Device device, DType dtype) {
  for (Tensor* x : {&options.mask, &options.bias, &options.alibi_slopes})
    if (x->defined() && x->dtype() != DType::kBool) *x = cast(*x, dtype);
  for (Tensor* x : {&options.mask, &options.bias, &options.alibi_slopes, &options.key_lengths,
                    &options.query_offsets, &options.query_starts, &options.key_starts})
    *x = on(*x, device);
  return options;
}

Tensor bool_mask(const Shape& shape) {
  std::vector<bool> values(static_cast<size_t>(count_of(shape)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] =
        i / static_cast<size_t>(shape.back()) % 5 != 0 && i % 3 != 1;  // some rows are empty
  return from_vector(values, shape);
}

std::vector<MaskCase> mask_cases() {
  const auto ids = [](std::vector<int64_t> list) {
    return from_vector(list, {static_cast<int64_t>(list.size())});
  };
  Generator random(9);
  std::vector<MaskCase> cases{
      {.name = "none"},
      {.name = "causal", .options = {.causal = true}},
      {.name = "causal, fewer queries", .queries = 33, .keys = 150, .options = {.causal = true}},
      {.name = "causal, more queries", .queries = 90, .keys = 20, .options = {.causal = true}},
      {.name = "window", .options = {.causal = true, .window_left = 7}},
      {.name = "window on both sides", .options = {.window_left = 3, .window_right = 9}},
      {.name = "grouped", .key_heads = 2, .options = {.causal = true}},
      {.name = "one key head", .key_heads = 1},
      {.name = "softcap", .options = {.softcap = 2.0}},
      {.name = "a row", .queries = 1, .keys = 200},
  };
  MaskCase one{.name = "key lengths"};
  one.options.key_lengths = ids({70, 13});
  cases.push_back(one);
  one = {.name = "boolean mask"};
  one.options.mask = bool_mask({2, 1, 70, 70});
  cases.push_back(one);
  one = {.name = "additive mask, causal", .options = {.causal = true}};
  one.options.mask = random_normal({70, 70}, random.next());
  cases.push_back(one);
  one = {.name = "bias"};
  one.options.bias = random_normal({1, 4, 70, 70}, random.next());
  cases.push_back(one);
  one = {.name = "ALiBi", .options = {.causal = true}};
  one.options.alibi_slopes = alibi_slopes(4);
  cases.push_back(one);
  one = {.name = "offsets", .options = {.causal = true}};
  one.options.query_offsets = ids({0, 5});
  cases.push_back(one);
  one = {.name = "packed", .batch = 1, .options = {.causal = true}};
  one.options.query_starts = one.options.key_starts = ids({0, 5, 5, 41, 70});
  cases.push_back(one);
  return cases;
}

TEST(AttentionWeights, EqualTheReferencesForEveryMask) {
  double largest[2] = {};
  for (const MaskCase& one : mask_cases()) {
    Generator random(5);
    const auto operand = [&](int64_t heads, int64_t length) {
      return cast(random_normal({one.batch, heads, length, 24}, random.next()), DType::kBFloat16);
    };
    const Tensor query = operand(one.heads, one.queries), key = operand(one.key_heads, one.keys);
    const Tensor value = operand(one.key_heads, one.keys);
    const auto weights = [&](DType dtype, Device device) {
      const AttentionOptions options =
          moved(one.options, device, dtype == DType::kBFloat16 ? DType::kFloat32 : dtype);
      const auto in = [&](const Tensor& x) { return to(cast(x, dtype), device); };
      const AttentionResult result = attention(in(query), in(key), in(value), options);
      return attention_weights(in(query), in(key), result.log_sum_exp, options);
    };
    const std::vector<double> exact = weights(DType::kFloat64, Device::kRef).to_vector<double>();
    for (const int precision : {0, 1}) {
      const std::vector<double> found =
          weights(precision == 0 ? DType::kFloat32 : DType::kBFloat16, Device::kCpu)
              .to_vector<double>();
      ASSERT_EQ(found.size(), exact.size()) << one.name;
      double error = 0;
      for (size_t i = 0; i < exact.size(); ++i)
        error = std::max(error, std::abs(found[i] - exact[i]));
      largest[precision] = std::max(largest[precision], error);
      // measured: 3.3e-7 and 7.5e-7, where the log-sum-exp is of float32 sums, too
      EXPECT_LT(error, 4e-6) << one.name << (precision == 0 ? ", float32" : ", bfloat16");
    }
  }
  std::cout << "largest errors: float32 " << largest[0] << ", bfloat16 " << largest[1] << "\n";
}

// At 8,192 tokens one head's map, and one row of every head, take what they are and memory linear
// in the length.
TEST(AttentionWeights, TakeNoMoreThanLinearMemory) {
  constexpr int64_t kLength = 8192, kHeads = 12, kSize = 64;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    Generator random(5);
    const Tensor query = cast(random_normal({1, kHeads, kLength, kSize}, random.next()), dtype);
    const AttentionOptions options{.causal = true};
    const AttentionResult result = attention(query, query, query, options);
    const auto extra = [&](const std::vector<int64_t>& heads, const std::vector<int64_t>& rows) {
      reset_peak_memory(Device::kCpu);
      const size_t before = memory_stats(Device::kCpu).bytes_in_use;
      const Tensor weights =
          attention_weights(query, query, result.log_sum_exp, options, heads, rows);
      return memory_stats(Device::kCpu).peak_in_use - before -
             static_cast<size_t>(weights.count()) * sizeof(float);
    };
    // The lists of heads and rows; the allocator rounds sizes up.
    EXPECT_LE(extra({3}, {}), size_t{16} * kLength) << name_of(dtype);
    EXPECT_LE(extra({}, {kLength - 1}), size_t{16} * kLength) << name_of(dtype);
  }
}

}  // namespace
}  // namespace glassformer::testing
