#include "glassformer/inspect/rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/inspect/saliency.h"
#include "glassformer/ops/ops.h"
#include "inspect/max_flow.h"
#include "inspect/small_models.h"
#include "support/compare.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using testing::distance;
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
      gradient_rollout({kLayers, gradients}).to_vector<float>(),
      Pointwise(FloatNear(1e-6F), {first[0] * 3, first[1] * 3, first[2] * 1.5F, first[3] * 1.5F}));
}

WeightGradients of_one_head(const std::vector<std::vector<float>>& weights,
                            const std::vector<std::vector<float>>& gradients) {
  WeightGradients result;
  for (const auto& layer : weights) result.weights.push_back(from_vector(layer, {1, 2, 2}));
  for (const auto& layer : gradients) result.gradients.push_back(from_vector(layer, {1, 2, 2}));
  return result;
}

const WeightGradients kEncoder = of_one_head({{.5F, .5F, .5F, .5F}}, {{1, -1, .5F, .5F}});
const WeightGradients kDecoder =
    of_one_head({{1, 0, .5F, .5F}, {1, 0, .2F, .8F}}, {{0, 0, 1, -1}, {0, 0, 5, 1}});
const WeightGradients kCross =
    of_one_head({{.5F, .5F, .25F, .75F}, {.5F, .5F, .4F, .6F}}, {{1, 0, 0, 2}, {0, 0, 1, -1}});

// Ā of the encoder = [[.5 0] [.25 .25]], so that R_ss = [[1.5 0] [.25 1.25]] and N(R_ss) =
// [[2 0] [.5 1.5]].
// Layer 1: Ā = [[0 0] [.5 0]], R_tt = [[1 0] [.5 1]], N(R_tt) = [[1 0] [1 1]]; of the
// cross-attention Ā = [[.5 0] [0 1.5]], Ā N(R_ss) = [[1 0] [.75 2.25]], R_ts = [[1.75 2.25]
// [.75 2.25]].
// Layer 2: Ā = [[0 0] [1 .8]], the second row of R_ts becomes [.75 2.25] + [1.75 2.25] +
// .8·[.75 2.25] = [3.1 6.3], that of R_tt [.5 1] + [1 0] + .8·[.5 1] = [1.9 1.8] and of N(R_tt)
// [1.9/2.7, 1 + .8/2.7]; Ā N(R_ss) = [[0 0] [.8 0]] adds .8 times these to the first column.
TEST(GradientRollout, OfBothStacksEqualsTheExampleWorkedByHand) {
  const GradientRollout rolled = gradient_rollout(kEncoder, kDecoder, kCross);
  EXPECT_THAT(rolled.encoder.to_vector<float>(),
              Pointwise(FloatNear(1e-6F), {1.5F, 0.F, .25F, 1.25F}));
  EXPECT_THAT(rolled.decoder.to_vector<float>(),
              Pointwise(FloatNear(1e-6F), {1.F, 0.F, 1.9F, 1.8F}));
  EXPECT_THAT(rolled.cross.to_vector<float>(),
              Pointwise(FloatNear(1e-6F),
                        {1.75F + .8F * 1.9F / 2.7F, 2.25F, 3.1F + .8F * (1 + .8F / 2.7F), 6.3F}));
}

TEST(GradientRollout, RefusesAttentionsThatDoNotFit) {
  expect_throws<ValueError>(
      [] {
        gradient_rollout({kLayers, {}});
      },
      {"gradient_rollout", "2 layers", "0"});
  expect_throws<ValueError>([] { gradient_rollout(kEncoder, kDecoder, kEncoder); },
                            {"cross-attentions of 2 layers", "1"});
  WeightGradients wide = kCross;
  wide.weights[1] = zeros({1, 2, 3});
  expect_throws<ShapeError>([&] { gradient_rollout(kEncoder, kDecoder, wide); },
                            {"[heads, 2, 2]", "[1, 2, 3]"});
}

// Against PyTorch in float64 over Hugging Face's models; tools/fixtures/relevance.py.
void expect_what_pytorch_works_out(const std::string& name, DType dtype, double tolerance) {
  const std::filesystem::path fixtures(GLASSFORMER_FIXTURES_DIR);
  const Model model = Model::open(fixtures / "models" / name, {.dtype = dtype});
  const SafetensorsFile expected(fixtures / "inspect" / (name + ".safetensors"));
  TransformerInput input;
  input.input_ids = expected.get("in.input_ids");
  input.decoder_input_ids = expected.get("in.decoder_input_ids");
  for (const char* number : {"0.", "1.", "2."}) {
    const auto of = [&](const char* key) { return expected.get(std::string(number) + key); };
    const std::vector<int64_t> what = of("what").to_vector<int64_t>();
    const auto [encoder, decoder, cross] =
        attention_gradients(model, input, {.output = what[1], .position = what[0]});
    const GradientRollout rolled = gradient_rollout(encoder, decoder, cross);
    EXPECT_LE(distance(rolled.encoder, of("source")), tolerance) << name << " " << number;
    EXPECT_LE(distance(rolled.decoder, of("target")), tolerance) << name << " " << number;
    EXPECT_LE(distance(rolled.cross, of("cross")), tolerance) << name << " " << number;
  }
}

TEST(GradientRollout, EqualsWhatPyTorchWorksOut) {
  for (const char* name : {"marian", "t5"}) {
    expect_what_pytorch_works_out(name, DType::kFloat64, 1e-6);  // measured 3.0e-7
    expect_what_pytorch_works_out(name, DType::kFloat32, 4e-6);  // measured 1.3e-6
  }
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
  const GradientsByWeights all = attention_gradients(model, input, {.output = 4});
  EXPECT_TRUE(all.encoder.weights.empty() && all.cross.weights.empty());
  const WeightGradients& found = all.decoder;
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
