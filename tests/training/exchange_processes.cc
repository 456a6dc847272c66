// Run alone and by mpirun: see tests/CMakeLists.txt.
#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/compare.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

GradientExchange* exchange = nullptr;

// What `rank` has of a tensor: every process can tell what any other has.
Tensor part(int rank, const Shape& shape, uint64_t stream, DType dtype) {
  const RandomKey key{.seed = static_cast<uint64_t>(rank), .stream = stream};
  return random_normal(shape, key, 0, 1, {dtype});
}

// The sum in the order of the ranks, in float32 for bfloat16.
Tensor total(const Shape& shape, uint64_t stream, DType dtype) {
  const DType wide = dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
  Tensor sum = cast(part(0, shape, stream, dtype), wide);
  for (int rank = 1; rank < exchange->size(); ++rank)
    sum = sum + cast(part(rank, shape, stream, dtype), wide);
  return cast(sum, dtype);
}

// From less than a number a rank on; most of them share a message with others.
const std::vector<Shape> kShapes = {{1}, {3, 5}, {0}, {700, 300}, {17}, {2, 3}, {64}};
const std::vector<DType> kDTypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat64};

TEST(Exchange, SumsAreThoseInTheOrderOfTheRanks) {
  for (int again = 0; again < 2; ++again)
    for (const bool mixed : {false, true}) {
      std::vector<Tensor> gradients, expected;
      for (size_t i = 0; i < kShapes.size() * kDTypes.size(); ++i) {
        const Shape& shape = kShapes[i % kShapes.size()];
        const DType dtype = kDTypes[mixed ? i % kDTypes.size() : i / kShapes.size()];
        gradients.push_back(part(exchange->rank(), shape, i, dtype));
        expected.push_back(total(shape, i, dtype));
      }
      for (Tensor& gradient : gradients) exchange->start_sum(gradient);
      exchange->wait();
      for (size_t i = 0; i < gradients.size(); ++i)
        EXPECT_TRUE(same_bits(gradients[i], expected[i])) << i;
    }
}

TEST(Exchange, ATensorOfSeveralMessages) {
  const Shape shape{1100, 1021};
  Tensor gradient = part(exchange->rank(), shape, 7, DType::kFloat32);
  exchange->start_sum(gradient);
  exchange->wait();
  EXPECT_TRUE(same_bits(gradient, total(shape, 7, DType::kFloat32)));
  Tensor value = part(exchange->rank(), shape, 8, DType::kFloat32);
  exchange->broadcast(value, 0);
  EXPECT_TRUE(same_bits(value, part(0, shape, 8, DType::kFloat32)));
}

TEST(Exchange, GradientsAreSentAsTheBackwardFinishesThem) {
  Tensor x = part(exchange->rank(), {64, 128}, 1, DType::kFloat32);
  std::vector<Tensor> weights;
  for (uint64_t i = 0; i < 6; ++i)
    weights.push_back(part(0, {128, 128}, 100 + i, DType::kFloat32).set_requires_grad());
  const auto loss = [&] {
    Tensor y = x;
    for (const Tensor& weight : weights) y = tanh(linear(y, weight));
    return sum(y);
  };
  backward(loss());
  std::vector<Tensor> late;
  for (Tensor& weight : weights) {
    late.push_back(weight.grad());
    exchange->start_sum(late.back());
    weight.set_grad({});
  }
  exchange->wait();
  backward(loss(), [&](const GradientState* leaf) {
    for (const Tensor& weight : weights)
      if (weight.gradient_state() == leaf) {
        Tensor gradient = weight.grad();
        exchange->start_sum(gradient);
      }
  });
  exchange->wait();
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_TRUE(same_bits(weights[i].grad(), late[i])) << i;
}

TEST(Exchange, Broadcasts) {
  for (int root = 0; root < exchange->size(); ++root)
    for (const Shape& shape : kShapes) {
      Tensor value = part(exchange->rank(), shape, 5, DType::kFloat32);
      exchange->broadcast(value, root);
      EXPECT_TRUE(same_bits(value, part(root, shape, 5, DType::kFloat32)));
    }
  Tensor owned = full({3}, exchange->rank(), {DType::kInt64});
  exchange->start_broadcast(owned, exchange->size() - 1);
  exchange->wait();
  EXPECT_EQ(owned.to_vector<int64_t>()[0], exchange->size() - 1);
}

TEST(Exchange, Numbers) {
  const int size = exchange->size();
  EXPECT_EQ(exchange->sum(exchange->rank() + 0.5), size * (size - 1) / 2.0 + 0.5 * size);
  EXPECT_FALSE(exchange->any(false));
  EXPECT_TRUE(exchange->any(exchange->rank() == size - 1));
  exchange->barrier();
}

TEST(Exchange, Errors) {
  Tensor value = ones({4, 3});
  Tensor turned = transpose(value, 0, 1);
  expect_throws<ValueError>([&] { exchange->start_sum(turned); }, {"exchange", "contiguous"});
  expect_throws<ValueError>([&] { exchange->broadcast(value, exchange->size()); }, {"root"});
  Tensor counts = ones({4}, {DType::kInt64});
  expect_throws<DTypeError>([&] { exchange->start_sum(counts); }, {"exchange", "int64"});
  Tensor elsewhere = ones({4}, {DType::kFloat32, Device::kRef});
  expect_throws<DeviceError>([&] { exchange->start_sum(elsewhere); }, {"exchange", "ref"});
}

}  // namespace
}  // namespace glassformer::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::unique_ptr<glassformer::GradientExchange> exchange = glassformer::make_exchange();
  glassformer::testing::exchange = exchange.get();
  return RUN_ALL_TESTS();
}
