#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using testing::expect_throws;

Tensor drawn(const Shape& shape, uint64_t stream, TensorOptions options = {}) {
  return random_normal(shape, {11, stream}, 0, 1, options);
}

// w, g, m and v, the same numbers on every device.
UpdateTensors tensors_of(const Shape& shape, TensorOptions options) {
  return {.parameter = drawn(shape, 1, options),
          .gradient = drawn(shape, 2, options),
          .first = drawn(shape, 3, options),
          .second = random_uniform(shape, {11, 4}, 0.1, 1, options)};
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

template <class Update>
void expect_like_ref(void (*run)(const UpdateTensors&, const Update&), const Update& update) {
  for (const int64_t count : {1, 7, 1031, 70001}) {
    const UpdateTensors fast = tensors_of({count}, {});
    const UpdateTensors naive = tensors_of({count}, {DType::kFloat64, Device::kRef});
    for (const UpdateTensors& one : {fast, naive}) run(one, update), run(one, update);
    // Measured: 7.8e-7.
    EXPECT_LT(largest_difference(fast.parameter, naive.parameter), 2e-6) << count;
    EXPECT_LT(largest_difference(fast.first, naive.first), 2e-6) << count;
    EXPECT_LT(largest_difference(fast.second, naive.second), 2e-6) << count;
  }
}

SgdUpdate sgd(double momentum, bool nesterov) {
  SgdUpdate update;
  update.rate = 0.1, update.decay = 0.01, update.gradient_scale = 0.5;
  update.momentum = momentum, update.nesterov = nesterov;
  return update;
}

AdamUpdate adam(bool decoupled) {
  AdamUpdate update;
  update.rate = 0.01, update.decay = 0.1, update.gradient_scale = 0.5;
  update.decoupled = decoupled, update.step = 3;
  return update;
}

LionUpdate lion() {
  LionUpdate update;
  update.rate = 0.01, update.decay = 0.1;
  return update;
}

TEST(Update, FastRulesAreTheNaiveOnes) {
  expect_like_ref(sgd_update, sgd(0.9, false));
  expect_like_ref(sgd_update, sgd(0.9, true));
  expect_like_ref(adam_update, adam(true));
  expect_like_ref(adam_update, adam(false));
  expect_like_ref(lion_update, lion());
}

TEST(Update, AMasterKeepsWhatAHalfTypeCannot) {
  const Tensor exact = drawn({5000}, 1);
  UpdateTensors half{.parameter = cast(exact, DType::kBFloat16),
                     .gradient = full({5000}, 1, {DType::kBFloat16}),
                     .master = clone(exact)};
  SgdUpdate update;
  update.rate = 1e-5;
  for (int i = 0; i < 100; ++i) sgd_update(half, update);
  EXPECT_LT(largest_difference(half.master, add(exact, full({}, -1e-3))), 1e-5);
  EXPECT_EQ(largest_difference(half.parameter, cast(half.master, DType::kBFloat16)), 0);
}

TEST(Update, RoundingByChanceIsRightOnAverage) {
  UpdateTensors half{.parameter = full({100000}, 1, {DType::kBFloat16}),
                     .gradient = full({100000}, -1, {DType::kBFloat16})};
  SgdUpdate update;
  update.rate =
      1e-4;  // a step of bfloat16 at 1 is 78 times that: rounded to nearest, nothing moves
  for (uint64_t i = 0; i < 100; ++i) {
    update.rounding = RandomKey{5, i};
    sgd_update(half, update);
  }
  EXPECT_NEAR(mean(cast(half.parameter, DType::kFloat32)).item(), 1.01, 1e-4);
}

TEST(Update, SumOfSquaresDoesNotDependOnThreads) {
  const Tensor x = drawn({70001}, 1);
  const int before = num_threads();
  set_num_threads(1);
  const double one = sum_of_squares(x);
  set_num_threads(4);
  EXPECT_EQ(sum_of_squares(x), one);
  set_num_threads(before);
  EXPECT_NEAR(one, sum_of_squares(to(cast(x, DType::kFloat64), Device::kRef)), 1e-6 * one);
  EXPECT_EQ(sum_of_squares(zeros({0})), 0);
}

TEST(Update, SaysWhatDoesNotFit) {
  const UpdateTensors right = tensors_of({4}, {});
  UpdateTensors wrong = right;
  wrong.gradient = drawn({5}, 1);
  expect_throws<ShapeError>([&] { adam_update(wrong, {}); }, "gradient");
  wrong = right;
  wrong.second = {};
  expect_throws<ValueError>([&] { adam_update(wrong, {}); }, "second");
  wrong = right;
  wrong.first = cast(right.first, DType::kFloat64);
  expect_throws<DTypeError>([&] { lion_update(wrong, {}); }, "first");
  LionUpdate chance;
  chance.rounding = RandomKey{};
  expect_throws<ValueError>([&] { lion_update(right, chance); }, "bfloat16");
}

}  // namespace
}  // namespace glassformer
