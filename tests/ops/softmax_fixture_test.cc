// Softmax and LogSoftmax against ONNX's node tests and PyTorch's values and gradients.

#include <gtest/gtest.h>

#include "support/torch_fixture.h"

namespace glassformer::testing {
namespace {

Tensor run(bool log, const Tensor& x, int axis) {
  return log ? log_softmax(x, axis) : softmax(x, axis);
}

constexpr FixtureSetting kSettings[] = {{Device::kCpu, DType::kFloat32, 1e-6},
                                        {Device::kRef, DType::kFloat64, 2e-15}};

// Measured, the largest error over the largest number: 2.2e-7 on cpu, 4.1e-16 on ref.
TEST(SoftmaxFixtures, TorchValuesAndGradients) {
  for (const FixtureSetting& setting : kSettings)
    for (const char* prefix : {"softmax_", "log_softmax_"})
      expect_torch_fixtures(prefix, setting, [](const Fixture& fixture, const FixtureInputs& in) {
        return run(fixture.meta("op") == "log_softmax", in("input"),
                   fixture.attribute_or("axis", -1));
      });
}

// Each file states its own tolerance, from 1.9e-6 up. Measured: 6.1e-8 for Softmax and 4.8e-7 for
// LogSoftmax, whose expected outputs are float32 numbers themselves.
TEST(SoftmaxFixtures, OnnxNodes) {
  for (const char* op : {"test_softmax_", "test_logsoftmax_"})
    for (const auto& path : Fixture::list("onnx", op))
      for (const auto& [device, dtype, unused] : kSettings) {
        const Fixture fixture = Fixture::load(path);
        SCOPED_TRACE(fixture.name() + " " + std::string(name_of(device)));
        const auto names = fixture.meta_json("inputs").get<std::vector<std::string>>();
        const auto outputs = fixture.meta_json("outputs").get<std::vector<std::string>>();
        const Tensor y =
            run(fixture.meta("op_type") == "LogSoftmax",
                fixture_tensor(fixture, names[0], dtype, device), fixture.attribute_or("axis", -1));
        const auto found = y.to_vector<double>(), expected = fixture.doubles(outputs[0]);
        const double tolerance = std::stod(fixture.meta("tolerance"));
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance);
      }
}

}  // namespace
}  // namespace glassformer::testing
