// Runs every line of the case tables in tests/cases/ through the same checks.

#include <cmath>

#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/op_case.h"

namespace glassformer::testing {
namespace {

constexpr uint64_t kSeed = 20170612;

// What a case gives: its outputs, then the gradients of its differentiable inputs.
struct Result {
  std::vector<Tensor> outputs, gradients;
};

using Adapt = Tensor (*)(const Tensor&);

Result run_case(const OpCase& one, const std::vector<Tensor>& inputs) {
  Result result;
  result.outputs = one.run(inputs);
  if (!one.gradient) return result;
  std::vector<Tensor> roots, upstream;
  Generator generator(kSeed + 1);
  for (const Tensor& output : result.outputs) {
    if (!is_floating(output.dtype()) || !output.requires_grad()) continue;
    roots.push_back(output);
    const Tensor values = random_normal(output.shape(), generator.next());
    upstream.push_back(to(cast(values, output.dtype()), output.device()));
  }
  backward(roots, upstream);
  for (const Tensor& input : inputs)
    if (input.requires_grad()) result.gradients.push_back(input.grad());
  return result;
}

Result run_case(const OpCase& one, DType dtype, Device device, Adapt adapt = nullptr) {
  std::vector<Tensor> inputs = make_inputs(one.inputs, kSeed, dtype, device);
  if (adapt != nullptr)
    for (Tensor& input : inputs) {
      Tensor adapted = adapt(input);
      if (input.requires_grad()) adapted.set_requires_grad();
      input = adapted;
    }
  return run_case(one, inputs);
}

// Compares tensor by tensor; `allowed` gives the tolerance from the float32 reference's own error.
template <class F>
void expect_close(const std::vector<Tensor>& found, const std::vector<Tensor>& naive,
                  const std::vector<Tensor>& exact, const char* what, F&& allowed) {
  ASSERT_EQ(found.size(), exact.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(found[i].defined() && exact[i].defined()) << what << " " << i;
    ASSERT_EQ(found[i].shape(), exact[i].shape()) << what << " " << i;
    const double tolerance = allowed(distance(naive[i], exact[i]));
    EXPECT_LE(distance(found[i], exact[i]), tolerance) << what << " " << i;
  }
}

class OpCases : public ::testing::TestWithParam<OpCase> {
 protected:
  // Rounding to the type and, inside, to float32: a few units in the last place of either.
  void expect_parity(DType dtype, double unit, Adapt adapt = nullptr) {
    const OpCase& one = GetParam();
    const Result exact = run_case(one, DType::kFloat64, Device::kRef);
    const Result naive = run_case(one, DType::kFloat32, Device::kRef);
    const Result found = run_case(one, dtype, Device::kCpu, adapt);
    const auto allowed = [&](double naive_error) { return one.factor * (naive_error + unit); };
    expect_close(found.outputs, naive.outputs, exact.outputs, "output", allowed);
    expect_close(found.gradients, naive.gradients, exact.gradients, "gradient", allowed);
  }
};

TEST_P(OpCases, Float32AgreesWithRef) { expect_parity(DType::kFloat32, 0x1p-23); }

TEST_P(OpCases, Float64AgreesWithRef) { expect_parity(DType::kFloat64, 0x1p-40); }

TEST_P(OpCases, BFloat16AgreesWithRef) {
  if (GetParam().half) expect_parity(DType::kBFloat16, 0x1p-7);
}

TEST_P(OpCases, Float16AgreesWithRef) {
  if (GetParam().half) expect_parity(DType::kFloat16, 0x1p-10);
}

TEST_P(OpCases, StridedInputs) { expect_parity(DType::kFloat32, 0x1p-23, strided_copy); }

TEST_P(OpCases, MisalignedInputs) { expect_parity(DType::kFloat32, 0x1p-23, misaligned_copy); }

TEST_P(OpCases, SameBitsForAnyThreadCount) {
  const int before = num_threads();
  set_num_threads(1);
  const Result one = run_case(GetParam(), DType::kFloat32, Device::kCpu);
  for (int threads : {2, 3}) {
    set_num_threads(threads);
    const Result many = run_case(GetParam(), DType::kFloat32, Device::kCpu);
    for (size_t i = 0; i < one.outputs.size(); ++i)
      EXPECT_TRUE(same_bits(one.outputs[i], many.outputs[i]))
          << threads << " threads, output " << i;
    for (size_t i = 0; i < one.gradients.size(); ++i)
      EXPECT_TRUE(same_bits(one.gradients[i], many.gradients[i]))
          << threads << " threads, gradient " << i;
  }
  set_num_threads(before);
}

// sum over the outputs of <output, upstream>, with run_case's upstream.
double weighted_sum(const OpCase& one, const std::vector<Tensor>& inputs) {
  const NoGrad no_grad;
  Generator generator(kSeed + 1);
  double total = 0;
  for (const Tensor& output : one.run(inputs)) {
    if (!is_floating(output.dtype())) continue;
    const Tensor upstream = cast(random_normal(output.shape(), generator.next()), DType::kFloat64);
    const auto a = output.to_vector<double>(), b = upstream.to_vector<double>();
    for (size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  }
  return total;
}

TEST_P(OpCases, GradientsMatchFiniteDifferences) {
  const OpCase& one = GetParam();
  if (!one.gradient || one.large) return;
  constexpr double kStep = 1e-5;
  constexpr int64_t kMostChecked = 40;  // elements of one input; spread evenly over it
  const std::vector<Tensor> inputs = make_inputs(one.inputs, kSeed, DType::kFloat64, Device::kRef);
  run_case(one, inputs);
  for (size_t which = 0; which < inputs.size(); ++which) {
    if (!inputs[which].requires_grad()) continue;
    ASSERT_TRUE(inputs[which].grad().defined()) << "input " << which;
    const auto gradient = inputs[which].grad().to_vector<double>();
    const auto values = inputs[which].to_vector<double>();
    const auto count = static_cast<int64_t>(values.size());
    double scale = 1e-3;
    for (double g : gradient) scale = std::max(scale, std::abs(g));
    for (int64_t k = 0; k < std::min(count, kMostChecked); ++k) {
      const auto at = static_cast<size_t>(k * count / std::min(count, kMostChecked));
      auto moved = [&](double by) {
        std::vector<double> changed = values;
        changed[at] += by;
        std::vector<Tensor> others;
        for (const Tensor& input : inputs) others.push_back(input.detach());
        others[which] = from_vector(changed, inputs[which].shape(), Device::kRef);
        return weighted_sum(one, others);
      };
      const double slope = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR(gradient[at], slope, 1e-6 * scale) << "input " << which << " element " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpCases, ::testing::ValuesIn(all_op_cases()),
                         [](const auto& info) { return info.param.op + "_" + info.param.name; });

}  // namespace
}  // namespace glassformer::testing
