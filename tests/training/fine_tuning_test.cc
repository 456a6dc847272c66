// What is for fine-tuning: slower learning further down, R-Drop, and adversarial training.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/throws.h"
#include "training/adversary.h"
#include "training/layer_rates.h"

namespace glassformer {
namespace {

using ::testing::DoubleEq;
using ::testing::Pointwise;

TEST(LayerRates, FallFromTheHeadToTheEmbedding) {
  std::vector<Trained> parameters;
  for (const char* name :
       {"embedding.tokens.weight", "encoder.0.norm_1.bias", "encoder.2.feed_forward.up.weight",
        "decoder.1.self_attention.query.weight.lora_A", "decoder.final_norm.weight", "head.bias"})
    parameters.push_back({name, {}});
  const std::vector<double> expected = {std::pow(0.5, 4), std::pow(0.5, 3), 0.5, 0.5, 1, 1};
  EXPECT_THAT(layer_rates(parameters, 0.5), Pointwise(DoubleEq(), expected));
  EXPECT_THAT(layer_rates(parameters, 1), ::testing::Each(1));
}

TEST(LayerRates, AreWhatAParameterMovesBy) {
  // Two parameters with one gradient, a block apart; plain SGD moves by rate · gradient.
  Tensor below = zeros({3}), above = zeros({3});
  below.set_requires_grad(true);
  above.set_requires_grad(true);
  below.set_grad(ones({3}));
  above.set_grad(ones({3}));
  Optimizer optimizer({{"encoder.0.bias", below}, {"encoder.1.bias", above}},
                      {.kind = OptimizerOptions::Kind::kSgd, .layer_decay = 0.5});
  optimizer.step(0.25);
  EXPECT_THAT(below.to_vector<float>(), ::testing::Each(-0.0625F));
  EXPECT_THAT(above.to_vector<float>(), ::testing::Each(-0.125F));
}

TEST(LayerRates, RefuseADecayOutsideItsRange) {
  for (const double decay : {0.0, -1.0, 1.5, std::nan("")})
    testing::expect_throws<ValueError>([&] { Optimizer({}, {.layer_decay = decay}); },
                                       "layer_decay above 0 to 1");
}

Batch batch_of(const std::vector<int64_t>& targets) {
  Batch batch;
  batch.targets = from_vector(targets, {static_cast<int64_t>(targets.size())});
  for (const int64_t target : targets) batch.target_count += target == kIgnoredTarget ? 0 : 1;
  return batch;
}

TEST(RDrop, IsTheMeanOfTwoLossesAndTheirDistance) {
  // Logits whose softmax is known: p = (1/4, 3/4) and q = (1/2, 1/2); the second row is ignored.
  const Tensor first = from_vector(std::vector<float>{0, std::log(3.F), 5, -5}, {2, 2});
  const Tensor second = from_vector(std::vector<float>{1, 1, -5, 5}, {2, 2});
  const Batch batch = batch_of({1, kIgnoredTarget});
  const Objective objective{.task = Task::kSequenceClassification, .r_drop = 3};
  const Loss loss = loss_of_two(objective, first, second, batch);
  const double losses = -(std::log(0.75) + std::log(0.5)) / 2;
  const double forth = 0.25 * std::log(0.25 / 0.5) + 0.75 * std::log(0.75 / 0.5);
  const double back = 0.5 * std::log(0.5 / 0.25) + 0.5 * std::log(0.5 / 0.75);
  EXPECT_EQ(loss.count, 1);
  EXPECT_NEAR(loss.sum.item(), losses + 3 * (forth + back) / 2, 1e-6);  // measured: 4e-10
}

TEST(RDrop, GradientIsThatOfTheFormula) {
  const std::vector<double> a = {0.3, -1.2, 0.7, 0.1, 0.4, -0.5}, b = {0.1, 0.2, 0.9, 1.0, -1, 0};
  const Batch batch = batch_of({2, 0});
  const Objective objective{
      .task = Task::kTokenClassification, .label_smoothing = 0.1, .r_drop = 2};
  const auto value = [&](const std::vector<double>& at) {
    return loss_of_two(objective, from_vector(at, {2, 3}), from_vector(b, {2, 3}), batch)
        .sum.item();
  };
  Tensor x = from_vector(a, {2, 3});
  x.set_requires_grad(true);
  backward(loss_of_two(objective, x, from_vector(b, {2, 3}), batch).sum);
  const std::vector<double> gradient = x.grad().to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    std::vector<double> up = a, down = a;
    up[i] += 1e-5;
    down[i] -= 1e-5;
    EXPECT_NEAR(gradient[i], (value(up) - value(down)) / 2e-5, 1e-8) << i;  // measured: 3.2e-11
  }
}

TEST(RDrop, RefusesTargetsThatAreNoClasses) {
  Batch batch;
  batch.targets = zeros({2});
  testing::expect_throws<ValueError>(
      [&] {
        loss_of_two({.r_drop = 1}, zeros({2, 1}), zeros({2, 1}), batch);
      },
      "expected targets that are classes, found numbers");
}

TEST(Adversary, MovesATokenAlikeWhereverItStands) {
  // The loss Σ slope · x has the gradient `slope` whatever x is. Token 4 stands in two places.
  const Tensor ids = from_vector(std::vector<int64_t>{4, 1, 4}, {3});
  const Tensor x = from_vector(std::vector<float>{3, 0, 0, 4, 1, 1}, {3, 2});
  const Tensor slope = from_vector(std::vector<float>{1, 0, 0, -2, 3, 0}, {3, 2});
  Adversary adversary(ids, 5);
  const Tensor first = adversary.replace("embedding", x);
  EXPECT_EQ(first.to_vector<float>(), x.to_vector<float>());
  backward(sum(first * slope));
  EXPECT_EQ(sum_of_squares(adversary.embedding()), 27);
  const std::vector<float> gradient = {0, 0, 0, -2, 0, 0, 0, 0, 4, 0};
  EXPECT_EQ(adversary.gradient().to_vector<float>(), gradient);
  adversary.turn(0.5);
  const std::vector<float> moved = {5, 0, 0, 3, 3, 1};
  EXPECT_EQ(adversary.replace("embedding", x).to_vector<float>(), moved);
}

TEST(Adversary, IsForModelsWithAnEmbedding) {
  Adversary adversary(from_vector(std::vector<int64_t>{0}, {1}), 1);
  testing::expect_throws<ValueError>([&] { adversary.gradient(); },
                                     "adversarial: expected a model with an embedding");
  EXPECT_EQ(adversary.wish("decoder.0.norm_1").kind, ProbeWish::Kind::kNothing);
  EXPECT_EQ(adversary.wish("embedding").kind, ProbeWish::Kind::kReplace);
}

}  // namespace
}  // namespace glassformer
