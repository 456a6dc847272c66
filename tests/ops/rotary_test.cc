#include "glassformer/ops/rotary.h"

#include <cmath>

#include <gtest/gtest.h>

#include "support/throws.h"
#include "support/torch_fixture.h"

namespace glassformer::testing {
namespace {

constexpr auto kInterleaved = RotaryOptions::Layout::kInterleaved;
constexpr auto kHalfSplit = RotaryOptions::Layout::kHalfSplit;

RotarySpec spec_of(const Fixture& fixture) {
  using Scaling = RotarySpec::Scaling;
  const std::map<std::string, Scaling> scalings{{"default", Scaling::kNone},
                                                {"linear", Scaling::kLinear},
                                                {"dynamic", Scaling::kDynamic},
                                                {"yarn", Scaling::kYarn},
                                                {"llama3", Scaling::kLlama3}};
  const nlohmann::json& rope = fixture.attribute("rope_parameters");
  const auto optional = [&](const char* key) {
    return rope.contains(key) ? std::optional<double>(rope.at(key)) : std::nullopt;
  };
  RotarySpec spec;
  spec.dim = fixture.attribute("head_dim");
  spec.theta = rope.at("rope_theta");
  spec.scaling = scalings.at(rope.at("rope_type"));
  spec.factor = rope.value("factor", 1.0);
  spec.original_max_positions =
      rope.value("original_max_position_embeddings",
                 fixture.attribute("max_position_embeddings").get<int64_t>());
  spec.low_freq_factor = rope.value("low_freq_factor", spec.low_freq_factor);
  spec.high_freq_factor = rope.value("high_freq_factor", spec.high_freq_factor);
  spec.beta_fast = rope.value("beta_fast", spec.beta_fast);
  spec.beta_slow = rope.value("beta_slow", spec.beta_slow);
  spec.mscale = optional("mscale");
  spec.mscale_all_dim = optional("mscale_all_dim");
  spec.attention_factor = optional("attention_factor");
  spec.truncate = rope.value("truncate", true);
  return spec;
}

TEST(RotaryFixture, FrequenciesAreThoseOfTransformers) {
  for (const auto& path : Fixture::list("torch", "rope_scaling")) {
    const Fixture fixture = Fixture::load(path);
    SCOPED_TRACE(fixture.name());
    const RotaryFrequencies found =
        rotary_frequencies(spec_of(fixture), fixture.attribute_or<int64_t>("seq_len", 0));
    const auto expected = fixture.doubles("inv_freq");
    ASSERT_EQ(found.inverse.size(), expected.size());
    // All the same bits but one of 544, which is one unit apart (torch's pow is not glibc's).
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(found.inverse[i], expected[i], 0x1p-23 * expected[i]) << i;
    // The file holds it rounded to float32.
    EXPECT_FLOAT_EQ(static_cast<float>(found.attention_scaling),
                    static_cast<float>(fixture.doubles("attention_scaling")[0]));
  }
}

Tensor run(const Fixture& fixture, const FixtureInputs& in) {
  RotaryFrequencies frequencies;
  for (double f : fixture.doubles("inv_freq")) frequencies.inverse.push_back(static_cast<float>(f));
  frequencies.attention_scaling = fixture.attribute("attention_scaling");
  const RotaryTable table = rotary_table(frequencies, 1024, in("input").options());
  return apply_rotary(
      in("input"), table,
      {fixture.attribute("interleaved") ? kInterleaved : kHalfSplit, in("positions")});
}

TEST(RotaryFixture, AgreesWithPyTorch) {
  // Measured: 3.1e-7 (the angle is rounded to float32), and 0.
  expect_torch_fixtures("rotary", {Device::kCpu, DType::kFloat32, 1e-6}, run);
  expect_torch_fixtures("rotary", {Device::kRef, DType::kFloat64, 1e-14}, run);
}

// ONNX's node in our terms: 3D inputs are [B, T, heads × size]; caches without position_ids are one
// row for each token, so that token t of batch b is position b T + t.
Tensor onnx_rotary(const Fixture& fixture, DType dtype, Device device) {
  const auto tensor = [&](const char* name) {
    return fixture_tensor(fixture, name, dtype, device);
  };
  Tensor x = tensor("X");
  const bool flat = x.rank() == 3;
  if (flat)
    x = transpose(reshape(x, {x.size(0), x.size(1), fixture.attribute("num_heads"), -1}), 1, 2);
  RotaryTable table{tensor("cos_cache"), tensor("sin_cache")};
  RotaryOptions options;
  options.layout = fixture.attribute_or("interleaved", 0) != 0 ? kInterleaved : kHalfSplit;
  if (fixture.has("position_ids")) {
    options.positions = tensor("position_ids");
  } else {
    std::vector<int64_t> each;
    for (int64_t i = 0; i < x.size(0) * x.size(2); ++i) each.push_back(i);
    options.positions = from_vector(each, {x.size(0), x.size(2)}, device);
    table = {flatten(table.cos, 0, 1), flatten(table.sin, 0, 1)};
  }
  const Tensor y = apply_rotary(x, table, options);
  return flat ? flatten(transpose(y, 1, 2), 2, 3) : y;
}

TEST(RotaryFixture, OnnxRotaryEmbedding) {
  for (const auto& path : Fixture::list("onnx", "test_rotary_embedding")) {
    const Fixture fixture = Fixture::load(path);
    SCOPED_TRACE(fixture.name());
    const auto expected = fixture.doubles("Y");
    const double tolerance = fixture.meta_json("tolerance");
    for (const auto& found : {onnx_rotary(fixture, DType::kFloat32, Device::kCpu),
                              onnx_rotary(fixture, DType::kFloat64, Device::kRef)}) {
      const auto values = found.to_vector<double>();
      ASSERT_EQ(values.size(), expected.size());
      for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], tolerance);
    }
  }
}

TEST(Rotary, KeepsTheOrderOfMemory) {
  const RotaryTable table = rotary_table(RotarySpec{.dim = 8}, 5);
  const Tensor heads_first = apply_rotary(zeros({2, 3, 5, 8}), table);
  EXPECT_TRUE(heads_first.is_contiguous());
  const Tensor tokens_first = apply_rotary(transpose(zeros({2, 5, 3, 8}), 1, 2), table);
  EXPECT_TRUE(transpose(tokens_first, 1, 2).is_contiguous());
}

TEST(Rotary, FrequenciesThrowForBadSpecs) {
  using Scaling = RotarySpec::Scaling;
  const auto expect = [](RotarySpec spec, const char* text) {
    expect_throws<ValueError>([&] { rotary_frequencies(spec); }, text);
  };
  expect({.dim = 0}, "dim");
  expect({.dim = 7}, "dim of at least 2, found 7");
  expect({.dim = 8, .theta = 0}, "theta");
  expect({.dim = 8, .theta = INFINITY}, "theta");
  expect({.dim = 8, .scaling = Scaling::kLinear, .factor = 0}, "factor");
  expect({.dim = 8, .scaling = Scaling::kDynamic, .factor = 2}, "original_max_positions");
  expect({.dim = 2, .scaling = Scaling::kDynamic, .original_max_positions = 8}, "dim over 2");
  expect({.dim = 8, .scaling = Scaling::kYarn, .original_max_positions = 8, .beta_fast = NAN},
         "beta_fast");
  expect({.dim = 8,
          .scaling = Scaling::kLlama3,
          .original_max_positions = 8,
          .low_freq_factor = 4,
          .high_freq_factor = 4},
         "high_freq_factor");
}

TEST(Rotary, ThrowsForBadArguments) {
  const Tensor x = zeros({2, 3, 4, 8});
  const RotaryTable table = rotary_table(RotarySpec{.dim = 8}, 4);
  const auto positions = [](const std::vector<int64_t>& p, const Shape& shape) {
    return RotaryOptions{.positions = from_vector(p, shape)};
  };
  EXPECT_NO_THROW(apply_rotary(x, table));
  expect_throws<ShapeError>([&] { apply_rotary(zeros({3, 4, 8}), table); }, "x of rank 4");
  expect_throws<DTypeError>([&] { apply_rotary(cast(x, DType::kInt32), table); }, "x");
  expect_throws<ShapeError>(
      [&] {
        apply_rotary(zeros({2, 3, 4, 6}), table);
      },
      "at most 6 elements");
  expect_throws<DTypeError>([&] { apply_rotary(cast(x, DType::kFloat64), table); },
                            "table.cos of dtype float64");
  expect_throws<DeviceError>([&] { apply_rotary(to(x, Device::kRef), table); }, "table.cos");
  expect_throws<ShapeError>([&] { apply_rotary(x, {table.cos, zeros({4, 3})}); }, "table.sin");
  expect_throws<IndexError>([&] { apply_rotary(x, table, {.offset = 1}); },
                            "positions from 0 to 3, found 4 of them from 1 on");
  expect_throws<IndexError>([&] { apply_rotary(x, table, {.offset = -1}); }, "from -1 on");
  expect_throws<IndexError>([&] { apply_rotary(x, table, {.offset = INT64_MAX}); }, "positions");
  expect_throws<ShapeError>(
      [&] {
        apply_rotary(x, table, positions({0, 1}, {2}));
      },
      "positions of shape [4]");
  expect_throws<ShapeError>(
      [&] {
        apply_rotary(x, table, positions({0, 1, 2, 3}, {1, 4}));
      },
      "positions of shape [2, 4]");
  expect_throws<DTypeError>([&] { apply_rotary(x, table, {.positions = zeros({4})}); },
                            "positions of dtype int64");
  RotaryOptions both = positions({0, 1, 2, 3}, {4});
  both.offset = 2;
  expect_throws<ValueError>([&] { apply_rotary(x, table, both); }, "either positions or an offset");
  for (Device device : {Device::kCpu, Device::kRef}) {
    const RotaryTable there{to(table.cos, device), to(table.sin, device)};
    const RotaryOptions bad{.positions = from_vector<int64_t>({0, 3, 4, 1}, {4}, device)};
    expect_throws<IndexError>([&] { apply_rotary(to(x, device), there, bad); },
                              "positions from 0 to 3, found 4 at [0, 2]");
  }
  expect_throws<ValueError>([] { rotary_table(RotarySpec{.dim = 8}, -1); }, "positions");
  expect_throws<DTypeError>([] { rotary_table(RotarySpec{.dim = 8}, 2, {DType::kBFloat16}); },
                            "bfloat16");
}

}  // namespace
}  // namespace glassformer::testing
