// Normalisation against PyTorch's values and gradients, and against ONNX's node tests.

#include <gtest/gtest.h>

#include "support/torch_fixture.h"

namespace glassformer::testing {
namespace {

// Largest errors measured: 1.3e-7 and 4.1e-16.
constexpr FixtureSetting kCpu{Device::kCpu, DType::kFloat32, 5e-7};
constexpr FixtureSetting kRef{Device::kRef, DType::kFloat64, 1e-14};

Tensor run_layer_norm(const Fixture& fixture, const FixtureInputs& in) {
  return layer_norm(in("input"), in("weight"), in("bias"), fixture.attribute("epsilon"),
                    fixture.attribute("normalized_dims"));
}

Tensor run_rms_norm(const Fixture& fixture, const FixtureInputs& in) {
  return rms_norm(in("input"), in("weight"), fixture.attribute("epsilon"),
                  fixture.attribute("normalized_dims"));
}

TEST(NormFixture, LayerNorm) {
  expect_torch_fixtures("layer_norm", kCpu, run_layer_norm);
  expect_torch_fixtures("layer_norm", kRef, run_layer_norm);
}

TEST(NormFixture, RmsNorm) {
  expect_torch_fixtures("rms_norm", kCpu, run_rms_norm);
  expect_torch_fixtures("rms_norm", kRef, run_rms_norm);
}

TEST(NormFixture, BatchNorm) {
  for (const FixtureSetting& setting : {kCpu, kRef})
    expect_torch_fixtures(
        "batch_norm", setting, [&](const Fixture& fixture, const FixtureInputs& in) {
          const Tensor mean = in("running_mean"), variance = in("running_var");
          const Tensor y = batch_norm(in("input"), in("weight"), in("bias"), mean, variance,
                                      {.training = fixture.attribute("training"),
                                       .momentum = fixture.attribute("momentum"),
                                       .epsilon = fixture.attribute("epsilon")});
          EXPECT_LE(distance(mean.to_vector<double>(), fixture.doubles("new_running_mean")),
                    setting.tolerance);
          EXPECT_LE(distance(variance.to_vector<double>(), fixture.doubles("new_running_var")),
                    setting.tolerance);
          return y;
        });
}

// ONNX's expected values are float32: nothing can come closer than the tolerance its file states.
void expect_onnx(const Fixture& fixture, const std::string& name, const Tensor& found) {
  const auto expected = fixture.doubles(name);
  const auto values = found.to_vector<double>();
  ASSERT_EQ(found.shape(), Shape(std::span<const int64_t>(fixture.shape(name)))) << name;
  const double tolerance = fixture.meta_json("tolerance");
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], tolerance) << name << " " << i;
}

// run(fixture, tensor by name) for every case and setting.
template <class F>
void for_onnx(const std::string& prefix, F&& run) {
  for (const auto& path : Fixture::list("onnx", prefix))
    for (const FixtureSetting& setting : {kCpu, kRef}) {
      const Fixture fixture = Fixture::load(path);
      SCOPED_TRACE(fixture.name() + " on " + std::string(name_of(setting.device)));
      run(fixture, [&](const char* name) {
        return fixture.has(name) ? fixture_tensor(fixture, name, setting.dtype, setting.device)
                                 : Tensor();
      });
    }
}

// ONNX names the first axis that is normalised.
int axes_of(const Fixture& fixture, const Tensor& x) {
  const int axis = fixture.attribute_or("axis", -1);
  return axis < 0 ? -axis : x.rank() - axis;
}

TEST(NormFixture, OnnxLayerNormalization) {
  for_onnx("test_layer_normalization", [](const Fixture& fixture, auto tensor) {
    const LayerNormResult found = layer_norm_with_statistics(
        tensor("X"), tensor("Scale"), tensor("B"), fixture.attribute_or("epsilon", 1e-5),
        axes_of(fixture, tensor("X")));
    expect_onnx(fixture, "Y", found.output);
    expect_onnx(fixture, "Mean", found.mean);
    expect_onnx(fixture, "InvStdDev", found.rstd);
  });
}

TEST(NormFixture, OnnxRmsNormalization) {
  for_onnx("test_rms_normalization", [](const Fixture& fixture, auto tensor) {
    expect_onnx(fixture, "Y",
                rms_norm(tensor("X"), tensor("scale"), fixture.attribute_or("epsilon", 1e-5),
                         axes_of(fixture, tensor("X"))));
  });
}

TEST(NormFixture, OnnxBatchNormalization) {
  for_onnx("test_batchnorm", [](const Fixture& fixture, auto tensor) {
    expect_onnx(
        fixture, "Y",
        batch_norm(tensor("X"), tensor("scale"), tensor("B"), tensor("input_mean"),
                   tensor("input_var"), {.epsilon = fixture.attribute_or("epsilon", 1e-5)}));
  });
}

}  // namespace
}  // namespace glassformer::testing
