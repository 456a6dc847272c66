#include "glassformer/inspect/rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "glassformer/inspect/saliency.h"
#include "glassformer/ops/ops.h"
#include "inspect/max_flow.h"
#include "inspect/small_models.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::expect_throws;
using ::testing::FloatNear;
using ::testing::Pointwise;

// Two tokens, two layers, worked by hand:
//   A_1 = [[.2 .8] [.6 .4]] (two heads, whose mean that is), A_2 = [[1 0] [.5 .5]]
//   Â_1 = [[.6 .4] [.3 .7]], Â_2 = [[1 0] [.25 .75]]
const std::vector<Tensor> kLayers{
    from_vector(std::vector<float>{.1F, .9F, .5F, .5F, .3F, .7F, .7F, .3F}, {2, 2, 2}),
    from_vector(std::vector<float>{1, 0, .5F, .5F}, {1, 2, 2})};

// Â_2 Â_1 = [[.6 .4] [.25·.6 + .75·.3, .25·.4 + .75·.7]]
TEST(Rollout, EqualsTheExampleWorkedByHand) {
  EXPECT_THAT(attention_rollout(kLayers).to_vector<float>(),
              Pointwise(FloatNear(1e-7F), {.6F, .4F, .375F, .625F}));
}

// From token 1 of layer 2: .25 to node 0 and .75 to node 1 of layer 1. To input 0 flow
// min(.25, .6) + min(.75, .3) = .55; to input 1 min(.25, .4) + min(.75, .7) = .95.
TEST(Flow, EqualsTheExampleWorkedByHand) {
  EXPECT_THAT(attention_flow(kLayers, 1),
              ElementsAre(DoubleNear(.55, 1e-7), DoubleNear(.95, 1e-7)));
  EXPECT_THAT(attention_flow(kLayers, 0), ElementsAre(DoubleNear(.6, 1e-7), DoubleNear(.4, 1e-7)));
}

// The classical example (Cormen et al., figure 26.1), whose greedy paths must be undone: 23.
TEST(Flow, FindsPathsThatUndoOthers) {
  FlowNetwork network(6);
  for (const auto& [from, to, capacity] :
       std::initializer_list<std::tuple<int, int, double>>{{0, 1, 16},
                                                           {0, 2, 13},
                                                           {1, 3, 12},
                                                           {2, 1, 4},
                                                           {2, 4, 14},
                                                           {3, 2, 9},
                                                           {3, 5, 20},
                                                           {4, 3, 7},
                                                           {4, 5, 4}})
    network.add(from, to, capacity);
  EXPECT_DOUBLE_EQ(network.max_flow(0, 5), 23);
  EXPECT_DOUBLE_EQ(network.max_flow(0, 5), 23);
  EXPECT_DOUBLE_EQ(network.max_flow(5, 0), 0);
}

// R_1 = I + Ā_1, R_2 = R_1 + Ā_2 R_1 with Ā_1 = mean of [[.1 0] [1 0]] and [[0 .7] [0 .3]] =
// [[.05 .35] [.5 .15]], Ā_2 = [[2 0] [0 .5]].
TEST(GradientRollout, EqualsTheExampleWorkedByHand) {
  const std::vector<Tensor> gradients{
      from_vector(std::vector<float>{1, -1, 2, 0, -3, 1, 0, 1}, {2, 2, 2}),
      from_vector(std::vector<float>{2, 5, -1, 1}, {1, 2, 2})};
  const std::vector<float> first{1.05F, .35F, .5F, 1.15F};
  EXPECT_THAT(
      gradient_rollout(kLayers, gradients).to_vector<float>(),
      Pointwise(FloatNear(1e-6F), {first[0] * 3, first[1] * 3, first[2] * 1.5F, first[3] * 1.5F}));
}

TEST(Rollout, RefusesLayersThatDoNotFit) {
  expect_throws<ValueError>([] { attention_rollout({}); }, {"attention_rollout"});
  expect_throws<ShapeError>(
      [] {
        attention_rollout({zeros({1, 2, 2}), zeros({1, 3, 3})});
      },
      {"[1, 3, 3]"});
  expect_throws<ShapeError>([] { attention_flow({zeros({1, 2, 3})}, 0); }, {"[1, 2, 3]"});
  expect_throws<IndexError>([] { attention_flow(kLayers, 2); }, {"0 to 1", "2"});
}

// By central differences, over every weight of a model: what depends on a weight counts, later
// layers' weights too.
TEST(AttentionGradients, EqualFiniteDifferences) {
  const Model model = Model::create(testing::kGpt2, 3, {.dtype = DType::kFloat64});
  const TransformerInput input = testing::small_input(model);
  const AttentionGradientsOf found = attention_gradients(model, input, "decoder", {.output = 4});
  ASSERT_EQ(found.weights.size(), 3U);
  class Nudge : public Probe {
   public:
    Nudge(size_t at, double by) : at_(at), by_(by) {}
    ProbeWish wish(const std::string& name) override {
      return {name == "decoder.0.self_attention.weights" ? ProbeWish::Kind::kReplace
                                                         : ProbeWish::Kind::kNothing};
    }
    void read(const std::string&, const Tensor&) override {}
    Tensor replace(const std::string&, const Tensor& value) override {
      std::vector<double> values = value.to_vector<double>();
      values[at_] += by_;
      return from_vector(values, value.shape());
    }

   private:
    size_t at_;
    double by_;
  };
  const auto logit = [&](size_t at, double by) {
    Nudge nudge(at, by);
    return model(input, {.probe = &nudge}).logits.to_vector<double>()[5 * 40 + 4];
  };
  const std::vector<float> gradients = found.gradients[0].to_vector<float>();
  for (size_t at = 0; at < gradients.size(); at += 7) {
    const double expected = (logit(at, 1e-5) - logit(at, -1e-5)) / 2e-5;
    EXPECT_NEAR(gradients[at], expected, 1e-6 * std::max(1.0, std::abs(expected))) << at;
  }
}

}  // namespace
}  // namespace glassformer
