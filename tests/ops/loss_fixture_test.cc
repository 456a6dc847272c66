// The losses against PyTorch's values and gradients.

#include <functional>

#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/fixture_tensor.h"

namespace glassformer::testing {
namespace {

Reduction reduction_of(const Fixture& fixture) {
  const auto name = fixture.attribute_or<std::string>("reduction", "mean");
  return name == "sum" ? Reduction::kSum : name == "none" ? Reduction::kNone : Reduction::kMean;
}

// A fixture's tensors in one precision on one device; undefined where it has none of that name.
using Get = std::function<Tensor(const std::string&)>;
using Loss = Tensor (*)(const Fixture&, const Tensor& input, const Get& get);

Tensor run_cross_entropy(const Fixture& fixture, const Tensor& input, const Get& get) {
  return cross_entropy(input, get("target"),
                       {.label_smoothing = fixture.attribute_or("label_smoothing", 0.0),
                        .ignore_index = fixture.attribute_or<int64_t>("ignore_index", -100),
                        .class_weights = get("weight"),
                        .reduction = reduction_of(fixture)});
}

Tensor run_mse(const Fixture& fixture, const Tensor& input, const Get& get) {
  return mse_loss(input, get("target"), reduction_of(fixture));
}

Tensor run_binary(const Fixture& fixture, const Tensor& input, const Get& get) {
  return binary_cross_entropy_with_logits(input, get("target"),
                                          {.pos_weight = get("pos_weight"),
                                           .weight = get("weight"),
                                           .reduction = reduction_of(fixture)});
}

void compare_with_torch(const char* prefix, Loss loss, DType dtype, Device device,
                        double tolerance) {
  for (const auto& path : Fixture::list("torch", prefix)) {
    const Fixture fixture = Fixture::load(path);
    SCOPED_TRACE(fixture.name());
    const Get get = [&](const std::string& name) {
      return fixture.has(name) ? fixture_tensor(fixture, name, dtype, device) : Tensor();
    };
    Tensor input = get("input");
    input.set_requires_grad();
    const Tensor output = loss(fixture, input, get);
    backward({output}, {get("grad_output")});
    EXPECT_EQ(output.count(), static_cast<int64_t>(fixture.doubles("output").size()));
    EXPECT_LE(distance(output.to_vector<double>(), fixture.doubles("output")), tolerance);
    EXPECT_LE(distance(input.grad().to_vector<double>(), fixture.doubles("grad_input")), tolerance);
  }
}

// Measured, the largest error over the largest number, on cpu and on ref:

// 2.1e-7 and 5.6e-16
TEST(LossFixtures, CrossEntropy) {
  compare_with_torch("cross_entropy_", run_cross_entropy, DType::kFloat32, Device::kCpu, 1e-6);
  compare_with_torch("cross_entropy_", run_cross_entropy, DType::kFloat64, Device::kRef, 2e-15);
}

// 1.1e-7 and 1.4e-16
TEST(LossFixtures, Mse) {
  compare_with_torch("mse_", run_mse, DType::kFloat32, Device::kCpu, 1e-6);
  compare_with_torch("mse_", run_mse, DType::kFloat64, Device::kRef, 2e-15);
}

// 1.2e-7 and 2.1e-16
TEST(LossFixtures, BinaryCrossEntropyWithLogits) {
  compare_with_torch("bce_with_logits_", run_binary, DType::kFloat32, Device::kCpu, 1e-6);
  compare_with_torch("bce_with_logits_", run_binary, DType::kFloat64, Device::kRef, 2e-15);
}

}  // namespace
}  // namespace glassformer::testing
