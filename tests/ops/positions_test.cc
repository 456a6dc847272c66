#include "glassformer/ops/positions.h"

#include <gtest/gtest.h>

#include "glassformer/ops/relative_positions.h"
#include "support/throws.h"
#include "support/torch_fixture.h"

namespace glassformer::testing {
namespace {

// Largest errors measured: 4.3e-8 and 1.2e-16.
constexpr FixtureSetting kCpu{Device::kCpu, DType::kFloat32, 2e-7};
constexpr FixtureSetting kRef{Device::kRef, DType::kFloat64, 1e-15};

template <class F>
void for_fixtures(const std::string& prefix, F&& body) {
  for (const auto& path : Fixture::list("torch", prefix)) {
    const Fixture fixture = Fixture::load(path);
    SCOPED_TRACE(fixture.name());
    body(fixture);
  }
}

TEST(PositionsFixture, Sinusoidal) {
  for_fixtures("sinusoidal", [](const Fixture& fixture) {
    const bool marian = fixture.meta("op") == "sinusoidal_marian";
    SinusoidalOptions options;
    if (marian) options.layout = SinusoidalOptions::Layout::kHalfSplit;
    for (const FixtureSetting& setting : {kCpu, kRef}) {
      options.tensor = {setting.dtype, setting.device};
      const Tensor table =
          sinusoidal_positions(fixture.attribute("length"), fixture.attribute("dim"), options);
      // Marian's tables are float32.
      EXPECT_LE(distance(table.to_vector<double>(), fixture.doubles("table")),
                marian ? kCpu.tolerance : setting.tolerance);
    }
  });
}

TEST(PositionsFixture, AlibiSlopesAndBloomsBias) {
  for_fixtures("alibi", [](const Fixture& fixture) {
    const Tensor slopes = alibi_slopes(fixture.attribute("heads"), {DType::kFloat64});
    EXPECT_LE(distance(slopes.to_vector<double>(), fixture.doubles("slopes")), kRef.tolerance);
    // Bloom's bias is that of a query at position 0.
    for (const FixtureSetting& setting : {kCpu, kRef}) {
      const Tensor at = to(cast(slopes, setting.dtype), setting.device);
      const Tensor bias = alibi_bias(at, 1, fixture.attribute("length"), 0);
      EXPECT_LE(distance(bias.to_vector<double>(), fixture.doubles("bias")), kCpu.tolerance);
    }
  });
}

RelativeBucketOptions bucket_options(const Fixture& fixture) {
  return {.bidirectional = fixture.attribute("bidirectional"),
          .num_buckets = fixture.attribute("num_buckets"),
          .max_distance = fixture.attribute("max_distance"),
          .query_offset = fixture.attribute_or<int64_t>("query_offset", 0)};
}

TEST(PositionsFixture, T5BucketsAreThoseOfTransformers) {
  for_fixtures("t5_buckets", [](const Fixture& fixture) {
    const RelativeBucketOptions options = bucket_options(fixture);
    const auto distances = fixture.doubles("relative_position");
    const auto expected = fixture.doubles("buckets");
    for (size_t i = 0; i < distances.size(); ++i)
      EXPECT_EQ(relative_position_bucket(static_cast<int64_t>(distances[i]), options),
                static_cast<int64_t>(expected[i]))
          << distances[i];
    // A table's rows are stretches of the same list.
    const Tensor table = relative_position_buckets(3, 5, options);
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 5; ++j)
        EXPECT_EQ(select(select(table, 0, i), 0, j).item(),
                  static_cast<double>(relative_position_bucket(j - i, options)));
  });
}

TEST(PositionsFixture, T5Bias) {
  for (const FixtureSetting& setting : {kCpu, kRef})
    expect_torch_fixtures("t5_bias", setting, [&](const Fixture& fixture, const FixtureInputs& in) {
      return relative_bias(in("weight"),
                           relative_position_buckets(fixture.attribute("query_length"),
                                                     fixture.attribute("key_length"),
                                                     bucket_options(fixture), setting.device));
    });
}

TEST(Positions, SinusoidalRowsFollowTheOffset) {
  const Tensor all = sinusoidal_positions(9, 6);
  EXPECT_TRUE(
      same_bits(sinusoidal_positions(4, 6, {.offset = 5}), contiguous(slice(all, 0, 5, 9))));
  const Tensor half = sinusoidal_positions(9, 6, {.tensor = {DType::kBFloat16}});
  EXPECT_TRUE(same_bits(half, cast(all, DType::kBFloat16)));
}

TEST(Positions, LearnedRowsAreAViewWithGradient) {
  Tensor table = random_normal({6, 3}, Generator(1).next());
  table.set_requires_grad();
  const Tensor rows = learned_positions(table, 2, 3);
  EXPECT_EQ(rows.storage(), table.storage());
  backward({rows}, {ones({2, 3})});
  EXPECT_EQ(sum(table.grad()).item(), 6);
  EXPECT_EQ(learned_positions(table, 6).shape(), (Shape{6, 3}));
  expect_throws<IndexError>([&] { learned_positions(table, 7); },
                            "positions from 0 to 5, found 7 of them from 0 on");
  expect_throws<IndexError>([&] { learned_positions(table, 2, 5); }, "2 of them from 5 on");
  expect_throws<IndexError>([&] { learned_positions(table, 1, -1); }, "from -1 on");
  expect_throws<IndexError>([&] { learned_positions(table, 1, INT64_MAX); }, "learned_positions");
  expect_throws<ShapeError>([&] { learned_positions(zeros({4}), 1); }, "table of rank 2");
}

TEST(Positions, ThrowForBadArguments) {
  expect_throws<ValueError>([] { sinusoidal_positions(-1, 4); }, "found -1, 4 and 0");
  expect_throws<ValueError>([] { sinusoidal_positions(1, 4, {.offset = -2}); }, "offset");
  expect_throws<DTypeError>([] { sinusoidal_positions(1, 4, {.tensor = {DType::kInt64}}); },
                            "int64");
  expect_throws<ValueError>([] { alibi_slopes(0); }, "heads, found 0");
  const Tensor slopes = alibi_slopes(4);
  expect_throws<ShapeError>([&] { alibi_bias(zeros({2, 2}), 1, 1, 0); }, "slopes of rank 1");
  expect_throws<ValueError>([&] { alibi_bias(slopes, -1, 1, 0); }, "found -1 and 1");
  expect_throws<ValueError>([&] { alibi_bias(slopes, 1, 1, INT64_MIN); }, "offset");
  expect_throws<ValueError>([] { relative_position_buckets(1, 1, {.num_buckets = 3}); },
                            "num_buckets of at least 4, found 3");
  expect_throws<ValueError>([] { relative_position_bucket(1, {.max_distance = 8}); },
                            "max_distance over 8, found 8");
  expect_throws<ValueError>([] { relative_position_buckets(-1, 1); }, "queries");
  EXPECT_EQ(relative_position_bucket(INT64_MIN), 15);
  EXPECT_EQ(relative_position_bucket(INT64_MAX), 31);
  EXPECT_EQ(relative_position_buckets(0, 4).shape(), (Shape{0, 4}));
}

TEST(Positions, RelativeBiasThrowsForBadArguments) {
  const Tensor table = zeros({4, 2}), buckets = zeros({2, 3}, {DType::kInt64});
  expect_throws<ShapeError>([&] { relative_bias(zeros({4}), buckets); }, "table of rank 2");
  expect_throws<DTypeError>([&] { relative_bias(table, zeros({2, 3})); }, "buckets of dtype");
  expect_throws<ShapeError>([&] { relative_bias(table, zeros({2}, {DType::kInt64})); },
                            "buckets of rank 2");
  expect_throws<DeviceError>([&] { relative_bias(table, to(buckets, Device::kRef)); }, "buckets");
  for (Device device : {Device::kCpu, Device::kRef})
    expect_throws<IndexError>(
        [&] {
          relative_bias(to(table, device), from_vector<int64_t>({0, 3, 1, 4}, {2, 2}, device));
        },
        "buckets from 0 to 3, found 4 at [1, 1]");
}

}  // namespace
}  // namespace glassformer::testing
