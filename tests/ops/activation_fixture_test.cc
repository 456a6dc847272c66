#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/fixture_tensor.h"

namespace glassformer::testing {
namespace {

Activation activation_of(const Fixture& fixture) {
  const auto name = fixture.attribute("activation").get<std::string>();
  for (const Activation f :
       {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
        Activation::kSilu, Activation::kSigmoid, Activation::kTanh})
    if (name == name_of(f)) return f;
  throw ValueError("activation " + name);
}

// Largest distances measured: cpu float32 1.0e-7, ref float64 2.4e-16.
struct Setting {
  Device device;
  DType dtype;
  double tolerance;
};
constexpr Setting kSettings[] = {{Device::kCpu, DType::kFloat32, 4e-7},
                                 {Device::kRef, DType::kFloat64, 1e-14}};

void expect_near(const Tensor& found, const Fixture& fixture, const std::string& name,
                 double tolerance) {
  EXPECT_LE(distance(found.to_vector<double>(), fixture.doubles(name)), tolerance)
      << fixture.name() << " " << name;
}

Tensor leaf(const Fixture& fixture, const char* name, const Setting& setting) {
  Tensor x = fixture_tensor(fixture, name, setting.dtype, setting.device);
  return x.set_requires_grad();
}

TEST(ActivationFixture, TorchActivations) {
  for (const auto& path : Fixture::list("torch", "activation_")) {
    const Fixture fixture = Fixture::load(path);
    for (const Setting& setting : kSettings) {
      const Tensor x = leaf(fixture, "input", setting);
      const Tensor y = activate(x, activation_of(fixture));
      backward({y}, {fixture_tensor(fixture, "grad_output", setting.dtype, setting.device)});
      expect_near(y, fixture, "output", setting.tolerance);
      expect_near(x.grad(), fixture, "grad_input", setting.tolerance);
    }
  }
}

TEST(ActivationFixture, TorchGated) {
  for (const auto& path : Fixture::list("torch", "gated_")) {
    const Fixture fixture = Fixture::load(path);
    for (const Setting& setting : kSettings) {
      const Tensor gate = leaf(fixture, "gate", setting), up = leaf(fixture, "up", setting);
      const Tensor dy = fixture_tensor(fixture, "grad_output", setting.dtype, setting.device);
      const Tensor y = gated(gate, up, activation_of(fixture));
      backward({y}, {dy});
      expect_near(y, fixture, "output", setting.tolerance);
      expect_near(gate.grad(), fixture, "grad_gate", setting.tolerance);
      expect_near(up.grad(), fixture, "grad_up", setting.tolerance);

      Tensor packed = concatenate({gate.detach(), up.detach()}, -1).set_requires_grad();
      const Tensor same = gated_packed(packed, activation_of(fixture));
      backward({same}, {dy});
      expect_near(same, fixture, "output", setting.tolerance);
      const auto halves = chunk(packed.grad(), -1, 2);
      expect_near(halves[0], fixture, "grad_gate", setting.tolerance);
      expect_near(halves[1], fixture, "grad_up", setting.tolerance);
    }
  }
}

TEST(ActivationFixture, OnnxGelu) {
  for (const auto& path : Fixture::list("onnx", "test_gelu_")) {
    const Fixture fixture = Fixture::load(path);
    const bool tanh_form = fixture.attribute_or<std::string>("approximate", "none") == "tanh";
    const double tolerance = std::stod(fixture.meta("tolerance"));
    for (const Setting& setting : kSettings) {
      const Tensor x = fixture_tensor(fixture, "X", setting.dtype, setting.device);
      const auto y = (tanh_form ? gelu_tanh(x) : gelu(x)).to_vector<double>();
      const auto expected = fixture.doubles("Y");
      ASSERT_EQ(y.size(), expected.size());
      for (size_t i = 0; i < y.size(); ++i)
        EXPECT_NEAR(y[i], expected[i], tolerance) << fixture.name();
    }
  }
}

}  // namespace
}  // namespace glassformer::testing
