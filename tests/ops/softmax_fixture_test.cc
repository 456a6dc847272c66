// Softmax and LogSoftmax against ONNX's node tests and PyTorch's values and gradients.

#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/fixture_tensor.h"

namespace glassformer::testing {
namespace {

Tensor run(bool log, const Tensor& x, int axis) {
  return log ? log_softmax(x, axis) : softmax(x, axis);
}

struct Precision {
  DType dtype;
  Device device;
  double tolerance;
};

// Measured against PyTorch, the largest error over the largest number: 2.2e-7 on cpu, 4.1e-16 on
// ref.
constexpr Precision kPrecisions[] = {{DType::kFloat32, Device::kCpu, 1e-6},
                                     {DType::kFloat64, Device::kRef, 2e-15}};

TEST(SoftmaxFixtures, TorchValuesAndGradients) {
  for (const char* op : {"softmax_", "log_softmax_"})
    for (const auto& path : Fixture::list("torch", op))
      for (const auto& [dtype, device, tolerance] : kPrecisions) {
        const Fixture fixture = Fixture::load(path);
        SCOPED_TRACE(fixture.name() + " " + std::string(name_of(device)));
        Tensor x = fixture_tensor(fixture, "input", dtype, device);
        x.set_requires_grad();
        const Tensor y =
            run(fixture.meta("op") == "log_softmax", x, fixture.attribute_or("axis", -1));
        backward({y}, {fixture_tensor(fixture, "grad_output", dtype, device)});
        EXPECT_LE(distance(y.to_vector<double>(), fixture.doubles("output")), tolerance);
        EXPECT_LE(distance(x.grad().to_vector<double>(), fixture.doubles("grad_input")), tolerance);
      }
}

// Each file states its own tolerance, from 1.9e-6 up. Measured: 6.1e-8 for Softmax and 4.8e-7 for
// LogSoftmax, whose expected outputs are float32 numbers themselves.
TEST(SoftmaxFixtures, OnnxNodes) {
  for (const char* op : {"test_softmax_", "test_logsoftmax_"})
    for (const auto& path : Fixture::list("onnx", op))
      for (const auto& [dtype, device, unused] : kPrecisions) {
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
