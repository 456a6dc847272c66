#include "glassformer/ops/norm.h"

#include <gtest/gtest.h>

#include "glassformer/ops/batch_norm.h"
#include "glassformer/ops/gather.h"
#include "glassformer/tensor/memory.h"
#include "support/compare.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

// Rows of mean `centre` and deviation 1: the numbers themselves are what float32 holds of them.
Tensor far_rows(double centre) { return random_normal({32, 1000}, Generator(5).next(), centre, 1); }

// y and the gradients of sum(y · upstream) for one device and dtype.
template <class F>
std::vector<Tensor> with_gradients(const Tensor& x_in, DType dtype, Device device, F&& norm) {
  const auto convert = [&](const Tensor& x) { return to(cast(x, dtype), device); };
  Generator generator(9);
  Tensor x = convert(x_in);
  Tensor weight = convert(random_uniform({x.size(-1)}, generator.next(), 0.5, 1.5));
  x.set_requires_grad();
  weight.set_requires_grad();
  const Tensor y = norm(x, weight);
  backward({y}, {convert(random_normal(y.shape(), generator.next()))});
  return {y, x.grad(), weight.grad()};
}

// A mean of 10,000 costs float32 four of its seven digits if it is subtracted carelessly.
// Largest error measured: 2.5e-7, the same as around zero.
TEST(Norm, RowsFarFromZeroLoseNothing) {
  const auto norm = [](const Tensor& x, const Tensor& w) { return layer_norm(x, w, {}, 1e-5); };
  for (double centre : {1e4, -1e4, 0.0}) {
    const auto found = with_gradients(far_rows(centre), DType::kFloat32, Device::kCpu, norm);
    const auto exact = with_gradients(far_rows(centre), DType::kFloat64, Device::kRef, norm);
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_LE(distance(found[i], exact[i]), 1e-6) << centre << " tensor " << i;
  }
}

// The first numbers of a long row say nothing of its mean: taken for it, they would cost the
// variance three digits. Largest error measured: 3.3e-7.
TEST(Norm, RowsThatBeginFarFromTheirMeanLoseNothing) {
  const auto norm = [](const Tensor& x, const Tensor& w) { return layer_norm(x, w, {}, 1e-5); };
  const auto rows = [] {
    const Tensor beginning = random_normal({2, 64}, Generator(6).next(), 300, 1);
    return concatenate({beginning, random_normal({2, 100000}, Generator(5).next())}, 1);
  };
  const auto found = with_gradients(rows(), DType::kFloat32, Device::kCpu, norm);
  const auto exact = with_gradients(rows(), DType::kFloat64, Device::kRef, norm);
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_LE(distance(found[i], exact[i]), 1e-6) << "tensor " << i;
}

// What the backward wants of a row is not kept without one, and changes no bit of the result.
TEST(Norm, OffTheTapeResultsAreTheSameAndNothingElseIsKept) {
  for (Device device : {Device::kRef, Device::kCpu}) {
    Tensor x = to(far_rows(1), device);
    const Tensor weight = ones({1000}, x.options()), bias = ones({1000}, x.options());
    const auto norms = [&] {
      return std::vector{layer_norm(x, weight, bias), rms_norm(x, weight)};
    };
    const size_t before = memory_stats(device).bytes_in_use;
    const std::vector<Tensor> plain = norms();
    const size_t kept = memory_stats(device).bytes_in_use - before;
    reset_peak_memory(device);
    const std::vector<Tensor> alone = norms();
    EXPECT_EQ(memory_stats(device).peak_in_use, before + 2 * kept) << name_of(device);
    x.set_requires_grad();
    const std::vector<Tensor> recorded = norms();
    for (size_t i = 0; i < plain.size(); ++i)
      EXPECT_EQ(plain[i].to_vector<float>(), recorded[i].to_vector<float>()) << name_of(device);
  }
}

TEST(Norm, BatchStatisticsFarFromZeroLoseNothing) {
  for (const Shape& shape : {Shape{32, 10, 100}, Shape{3200, 10}}) {
    const auto variance_of = [&](DType dtype, Device device) {
      const Tensor x = to(cast(reshape(far_rows(1e4), shape), dtype), device);
      const Tensor mean = zeros({10}, x.options()), variance = zeros({10}, x.options());
      batch_norm(x, {}, {}, mean, variance, {.training = true, .momentum = 1});
      return variance;
    };
    EXPECT_LE(distance(variance_of(DType::kFloat32, Device::kCpu),
                       variance_of(DType::kFloat64, Device::kRef)),
              1e-6);
  }
}

TEST(Norm, ConstantRowsGiveTheBias) {
  for (double value : {0.0, 3.0, 1e4, -0.1}) {
    const Tensor y = layer_norm(full({2, 37}, value), {}, full({37}, 0.25), 1e-12);
    for (float element : y.to_vector<float>()) EXPECT_NEAR(element, 0.25, 1e-3) << value;
  }
}

TEST(Norm, ThrowsForBadArguments) {
  const Tensor x = zeros({2, 3, 4}), w = zeros({4});
  expect_throws<ValueError>([&] { layer_norm(Tensor()); }, "layer_norm: expected a tensor for x");
  expect_throws<DTypeError>([&] { rms_norm(cast(x, DType::kInt32)); }, "rms_norm: expected x");
  expect_throws<DTypeError>([&] { layer_norm(cast(x, DType::kBFloat16), w); },
                            "weight of dtype bfloat16 like x, found float32");
  expect_throws<DTypeError>([&] { layer_norm(x, {}, cast(w, DType::kFloat64)); }, "bias");
  expect_throws<DeviceError>([&] { layer_norm(x, to(w, Device::kRef)); }, "weight");
  expect_throws<ShapeError>([&] { layer_norm(x, zeros({3})); }, "weight of shape [4], found [3]");
  expect_throws<ShapeError>([&] { layer_norm(x, {}, w, 1e-5, 2); },
                            "bias of shape [3, 4], found [4]");
  expect_throws<ShapeError>([&] { layer_norm(x, {}, {}, 1e-5, 4); }, "from 1 to 3 axes");
  expect_throws<ShapeError>([&] { rms_norm(x, {}, 1e-5, 0); }, "found 0");
  expect_throws<ShapeError>([&] { layer_norm(zeros({3, 0})); }, "elements to normalise over");
  expect_throws<ValueError>([&] { layer_norm(x, w, {}, -1); }, "epsilon");
  expect_throws<ValueError>([&] { rms_norm(x, w, NAN); }, "epsilon");
}

TEST(Norm, BatchNormThrowsForBadArguments) {
  const Tensor x = zeros({2, 3, 4}), c = zeros({3});
  expect_throws<ShapeError>([&] { batch_norm(zeros({3}), {}, {}, c, c); }, "x of rank 2 or more");
  expect_throws<ShapeError>([&] { batch_norm(x, zeros({4}), {}, c, c); }, "weight of shape [3]");
  expect_throws<ShapeError>([&] { batch_norm(x, {}, zeros({4}), c, c); }, "bias of shape [3]");
  expect_throws<ShapeError>([&] { batch_norm(x, {}, {}, zeros({2}), c); }, "running_mean");
  expect_throws<ValueError>([&] { batch_norm(x, {}, {}, c, {}); }, "running_var");
  expect_throws<DTypeError>(
      [&] { batch_norm(x, {}, {}, cast(c, DType::kBFloat16), c, {.training = true}); },
      "running_mean of dtype float32, found bfloat16");
  expect_throws<DTypeError>([&] { batch_norm(x, cast(c, DType::kFloat64), {}, c, c); }, "weight");
  expect_throws<DeviceError>([&] { batch_norm(x, {}, {}, c, to(c, Device::kRef)); }, "running_var");
  expect_throws<ValueError>([&] { batch_norm(x, {}, {}, c, c, {.epsilon = -1}); }, "epsilon");
  expect_throws<ValueError>([&] { batch_norm(x, {}, {}, c, c, {.momentum = 2}); }, "momentum");
  expect_throws<ShapeError>(
      [&] {
        batch_norm(zeros({1, 3}), {}, {}, {}, {}, {.training = true});
      },
      "two elements a channel");
  Tensor tracked = zeros({3});
  tracked.set_requires_grad();
  expect_throws<AutogradError>([&] { batch_norm(x, {}, {}, tracked, c, {.training = true}); },
                               "batch_norm: expected a tensor that requires no gradient");
}

}  // namespace
}  // namespace glassformer::testing
