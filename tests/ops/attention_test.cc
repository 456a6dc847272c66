#include "glassformer/ops/attention.h"

#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/compare.h"

namespace glassformer::testing {
namespace {

using ::testing::HasSubstr;

struct Operands {
  Tensor query, key, value;
};

Operands make(int64_t batch, int64_t heads, int64_t key_heads, int64_t queries, int64_t keys,
              int64_t size, DType dtype = DType::kFloat32, Device device = Device::kCpu) {
  Generator random(5);
  const auto one = [&](int64_t h, int64_t t) {
    // Rounded to bfloat16 first, so that every dtype holds the same numbers.
    const Tensor x = cast(random_normal({batch, h, t, size}, random.next()), DType::kBFloat16);
    return to(cast(x, dtype), device);
  };
  return {one(heads, queries), one(key_heads, keys), one(key_heads, keys)};
}

std::vector<Tensor> outputs_and_gradients(const Operands& in, const AttentionOptions& options) {
  const Tensor query = in.query.detach().set_requires_grad();
  const Tensor key = in.key.detach().set_requires_grad();
  const Tensor value = in.value.detach().set_requires_grad();
  const AttentionResult result = attention(query, key, value, options);
  Generator random(6);
  const Tensor dy = cast(random_normal(result.output.shape(), random.next()), DType::kBFloat16);
  backward({result.output}, {to(cast(dy, query.dtype()), query.device())});
  return {result.output, query.grad(), key.grad(), value.grad()};
}

// bfloat16 with float32 sums, against float64 on the same (bfloat16) numbers. What remains is the
// rounding of weights, score gradients and results to eight bits: 2^-9 relative each. Measured:
// output 2.9e-3, gradients 4.7e-3 of the largest element, with tile instructions and without.
TEST(Attention, BFloat16IsAsGoodAsItsRounding) {
  struct Lengths {
    int64_t queries, keys;
  };
  for (const Lengths length : {Lengths{130, 190}, Lengths{261, 261}, Lengths{200, 150}})
    for (const auto& options : {AttentionOptions{}, AttentionOptions{.causal = true},
                                AttentionOptions{.causal = true, .window_left = 40, .softcap = 4.0},
                                AttentionOptions{.window_left = 20, .window_right = 10}}) {
      const auto run = [&](DType dtype, Device device) {
        return outputs_and_gradients(make(1, 2, 1, length.queries, length.keys, 40, dtype, device),
                                     options);
      };
      const auto found = run(DType::kBFloat16, Device::kCpu);
      const auto exact = run(DType::kFloat64, Device::kRef);
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_LE(distance(found[i], exact[i]), 0x1p-7) << i << " of " << length.queries;
    }
}

TEST(Attention, PackedSequencesEqualSeparateOnes) {
  const std::vector<int64_t> query_lengths{5, 0, 130, 1}, key_lengths{9, 3, 300, 0};
  std::vector<int64_t> query_starts{0}, key_starts{0};
  for (int64_t n : query_lengths) query_starts.push_back(query_starts.back() + n);
  for (int64_t n : key_lengths) key_starts.push_back(key_starts.back() + n);
  Generator random(3);
  const Tensor q = random_normal({query_starts.back(), 4, 12}, random.next()).set_requires_grad();
  const Tensor k = random_normal({key_starts.back(), 2, 12}, random.next()).set_requires_grad();
  const Tensor v = random_normal({key_starts.back(), 2, 12}, random.next()).set_requires_grad();
  const Tensor dy = random_normal(q.shape(), random.next());
  AttentionOptions options{.causal = true};
  options.query_starts = from_vector(query_starts, {5});
  options.key_starts = from_vector(key_starts, {5});
  const AttentionResult packed = attention(q, k, v, options);
  backward({packed.output}, {dy});
  for (size_t s = 0; s < query_lengths.size(); ++s) {
    const auto part = [](const Tensor& x, int64_t begin, int64_t end) {
      return unsqueeze(transpose(slice(x.detach(), 0, begin, end), 0, 1), 0).set_requires_grad();
    };
    const auto query_part = [&](const Tensor& x) {
      return part(x, query_starts[s], query_starts[s + 1]);
    };
    const auto key_part = [&](const Tensor& x) {
      return part(x, key_starts[s], key_starts[s + 1]);
    };
    const Tensor qs = query_part(q), ks = key_part(k), vs = key_part(v);
    const AttentionResult alone = attention(qs, ks, vs, {.causal = true});
    backward({alone.output}, {query_part(dy).detach()});
    EXPECT_TRUE(same_bits(alone.output, query_part(packed.output))) << s;
    EXPECT_LE(distance(query_part(q.grad()), qs.grad()), 1e-6) << s;
    EXPECT_LE(distance(key_part(k.grad()), ks.grad()), 1e-6) << s;
    EXPECT_LE(distance(key_part(v.grad()), vs.grad()), 1e-6) << s;
  }
}

TEST(Attention, WeightsOfTheHeadsAndQueriesAskedFor) {
  for (DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const Operands in = make(2, 4, 2, 9, 13, 8, dtype);
    const AttentionOptions options{.causal = true, .softcap = 3.0};
    const AttentionResult result = attention(in.query, in.key, in.value, options);
    const Tensor all = attention_weights(in.query, in.key, result.log_sum_exp, options);
    const Tensor some =
        attention_weights(in.query, in.key, result.log_sum_exp, options, {3, 1}, {8, 0, 4});
    ASSERT_EQ(some.shape(), Shape({2, 2, 3, 13}));
    EXPECT_TRUE(same_bits(select(select(some, 1, 0), 1, 2), select(select(all, 1, 3), 1, 4)));
    const Tensor rows = sum(all, {-1});
    for (double total : rows.to_vector<double>()) EXPECT_NEAR(total, 1, 1e-5);
  }
}

TEST(Attention, ReadingTheWeightsLeavesTheResultAlone) {
  const Operands in = make(1, 2, 2, 40, 50, 16);
  const AttentionResult before = attention(in.query, in.key, in.value);
  attention_weights(in.query, in.key, before.log_sum_exp);
  EXPECT_TRUE(same_bits(before.output, attention(in.query, in.key, in.value).output));
}

TEST(Attention, NothingToAttendToGivesZeros) {
  Operands in = make(1, 2, 1, 6, 3, 8);
  for (Tensor* x : {&in.query, &in.key, &in.value}) x->set_requires_grad();
  const AttentionResult result = attention(in.query, in.key, in.value, {.causal = true});
  // Six queries on three keys, bottom right: the first three see nothing.
  EXPECT_EQ(max(flatten(slice(result.output, 2, 0, 3)), 0).item(), 0);
  EXPECT_EQ(max(flatten(slice(result.log_sum_exp, 2, 0, 3)), 0).item(), -INFINITY);
  backward(sum(result.output));
  const Tensor dq = slice(in.query.grad(), 2, 0, 3);
  EXPECT_EQ(max(flatten(dq * dq), 0).item(), 0);
}

TEST(Attention, NotANumberIsNotHidden) {
  const Operands in = make(1, 1, 1, 4, 300, 8);
  in.key.detach().mutable_data<float>()[17] = NAN;
  for (double y : attention(in.query, in.key, in.value).output.to_vector<double>())
    EXPECT_TRUE(std::isnan(y));
}

// Scores that grow from key to key: slowly, in steps that come late, with every tile, never, or by
// more than a power of two can hold. The online softmax changes what it measures them from only
// where they grow much, and then for those queries alone. Measured: output 4.3e-6 of the largest
// element and 7.9e-6 for the last, since float32 holds scores of 40 and 100 to 2e-6 and 4e-6;
// log-sum-exp 1.9e-7.
TEST(Attention, ScoresThatRiseLate) {
  constexpr int64_t kQueries = 70, kKeys = 700, kSize = 16;
  struct Course {
    std::function<double(int64_t)> height;
    double tolerance;
  };
  const auto steps = [](double second, double third) {
    return [=](int64_t j) { return j < 300 ? 0.0 : j < 500 ? second : third; };
  };
  const std::vector<Course> courses = {
      {[](int64_t j) { return 0.01 * static_cast<double>(j); }, 8e-6},
      {steps(40.0, 100.0), 8e-6},
      {[](int64_t j) { return 16.0 * static_cast<double>(j / 64); }, 8e-6},
      {[](int64_t j) { return -30.0 * static_cast<double>(j / 128); }, 8e-6},
      {steps(0.0, 400.0), 16e-6}};
  for (const Course& course : courses)
    for (const AttentionOptions& options : {AttentionOptions{}, AttentionOptions{.causal = true}}) {
      const Operands in = make(1, 1, 1, kQueries, kKeys, kSize);
      for (int64_t j = 0; j < kKeys; ++j)
        in.key.detach().mutable_data<float>()[j * kSize] = static_cast<float>(course.height(j));
      for (int64_t i = 0; i < kQueries; ++i)  // nothing of it, half, all
        in.query.detach().mutable_data<float>()[i * kSize] = 0.5F * static_cast<float>(i % 3);
      const AttentionResult found = attention(in.query, in.key, in.value, options);
      const auto exact = [](const Tensor& x) { return to(cast(x, DType::kFloat64), Device::kRef); };
      const AttentionResult wanted =
          attention(exact(in.query), exact(in.key), exact(in.value), options);
      EXPECT_LE(distance(found.output, wanted.output), course.tolerance);
      EXPECT_LE(distance(found.log_sum_exp, wanted.log_sum_exp), 1e-6);
      // The last queries, bottom right, in other company.
      const Tensor some = slice(in.query, 2, 37, kQueries);
      EXPECT_TRUE(same_bits(attention(some, in.key, in.value, options).output,
                            slice(found.output, 2, 37, kQueries)));
    }
}

// The forward holds packed keys and values, the output and a row of sums: all linear in length.
TEST(Attention, MemoryGrowsLinearly) {
  const auto peak = [](int64_t length) {
    const Operands in = make(1, 16, 16, length, length, 4);
    release_cached_memory(Device::kCpu);
    const size_t before = memory_stats(Device::kCpu).bytes_in_use;
    reset_peak_memory(Device::kCpu);
    outputs_and_gradients(in, {.causal = true});
    return static_cast<double>(memory_stats(Device::kCpu).peak_in_use - before);
  };
  const double one = peak(1024), four = peak(4096);
  EXPECT_LE(four / one, 4.6);  // measured 4.1; sixteen were it quadratic
}

TEST(Attention, BadInputNamesWhatWasExpected) {
  const Operands in = make(2, 4, 2, 5, 7, 8);
  const auto message = [&](const auto& run) -> std::string {
    try {
      run();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const auto with = [&](const AttentionOptions& options) {
    return message([&] { attention(in.query, in.key, in.value, options); });
  };
  EXPECT_THAT(message([&] { attention(Tensor(), in.key, in.value); }), HasSubstr("query"));
  EXPECT_THAT(message([&] { attention(in.query, slice(in.key, 3, 0, 4), in.value); }),
              HasSubstr("key of shape [2, 2, 7, 8], found [2, 2, 7, 4]"));
  EXPECT_THAT(message([&] { attention(in.query, in.key, slice(in.value, 2, 0, 4)); }),
              HasSubstr("value of shape"));
  EXPECT_THAT(message([&] { attention(slice(in.query, 1, 0, 3), in.key, in.value); }),
              HasSubstr("multiple of heads of key"));
  EXPECT_THAT(message([&] { attention(in.query, cast(in.key, DType::kFloat64), in.value); }),
              HasSubstr("key of dtype float32"));
  EXPECT_THAT(message([&] { attention(in.query, to(in.key, Device::kRef), in.value); }),
              HasSubstr("key on device cpu"));
  EXPECT_THAT(with({.mask = ones({3, 7}, {DType::kBool})}), HasSubstr("mask of a shape"));
  EXPECT_THAT(with({.bias = ones({5, 7}, {DType::kInt64})}), HasSubstr("bias"));
  EXPECT_THAT(with({.alibi_slopes = ones({3})}), HasSubstr("alibi_slopes of shape [4]"));
  EXPECT_THAT(with({.key_lengths = from_vector<int64_t>({3, 8}, {2})}), HasSubstr("from 0 to 7"));
  EXPECT_THAT(with({.key_lengths = ones({2})}), HasSubstr("int64 or int32"));
  EXPECT_THAT(with({.query_starts = from_vector<int64_t>({0, 5}, {2})}), HasSubstr("together"));
  EXPECT_THAT(with({.dropout = 1.0}), HasSubstr("dropout"));
  EXPECT_THAT(with({.softcap = -1.0}), HasSubstr("softcap"));
  EXPECT_THAT(with({.scale = NAN}), HasSubstr("scale"));
  EXPECT_THAT(with({.window_left = -2}), HasSubstr("windows"));
  const AttentionResult result = attention(in.query, in.key, in.value);
  EXPECT_THAT(message([&] { attention_weights(in.query, in.key, result.log_sum_exp, {}, {4}); }),
              HasSubstr("heads from 0 to 3, found 4"));
}

}  // namespace
}  // namespace glassformer::testing
