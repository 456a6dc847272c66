// What one logit comes from: saliency, direct logit attribution, the logit lens.

#include <cmath>
#include <filesystem>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/autograd/no_grad.h"
#include "glassformer/base/error.h"
#include "glassformer/inspect/attribution.h"
#include "glassformer/inspect/capture.h"
#include "glassformer/inspect/lens.h"
#include "glassformer/inspect/replace.h"
#include "glassformer/inspect/saliency.h"
#include "glassformer/ops/ops.h"
#include "inspect/small_models.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using testing::expect_throws;
using testing::kBart;
using testing::kGpt2;
using testing::kLlama;
using testing::small_input;

constexpr const char* kVit = R"({"model_type": "vit", "image_size": 12, "patch_size": 4,
    "num_channels": 3, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
    "intermediate_size": 40, "initializer_range": 0.3, "num_labels": 3,
    "architectures": ["ViTForImageClassification"]})";

TransformerInput input_for(const Model& model) {
  if (!model.transformer().spec().image) return small_input(model);
  TransformerInput input;
  input.pixel_values = random_normal({1, 3, 12, 12}, {7}, 0, 1, model.transformer().options());
  return input;
}

class Explain : public ::testing::TestWithParam<const char*> {
 protected:
  // A configuration, or the name of a fixture.
  static Model model() {
    const std::string name = GetParam();
    if (name.front() == '{') return Model::create(name, 3, {.dtype = DType::kFloat64});
    return Model::open(std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "models" / name,
                       {.dtype = DType::kFloat64});
  }
  Model model_ = model();
  TransformerInput input_ = input_for(model_);
};

TEST_P(Explain, IntegratedGradientsAreComplete) {
  TransformerInput baseline = input_;
  if (baseline.pixel_values.defined()) baseline.pixel_values = zeros_like(baseline.pixel_values);
  if (baseline.input_ids.defined()) baseline.input_ids = zeros_like(baseline.input_ids);
  const IntegratedGradients found = integrated_gradients(model_, input_, baseline, {}, 256);
  const std::vector<double> parts = found.tokens.to_vector<double>();
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  const double change = found.output - found.baseline_output;
  EXPECT_GT(std::abs(change), 0.01);
  EXPECT_NEAR(sum, change, 2e-6);  // measured: at most 2.4e-7, of changes up to 7
}

// The gradient by central differences along a random direction of one token's embedding.
TEST_P(Explain, SaliencyIsTheNormOfTheGradient) {
  const NoGrad no_grad;
  const std::vector<float> found =
      gradient_saliency(model_, input_, {.output = 1}).to_vector<float>();
  Capture capture({"embedding"});
  model_(input_, {.probe = &capture});
  const Tensor embedding = capture.value("embedding");
  ASSERT_EQ(static_cast<int64_t>(found.size()), embedding.size(1));
  const auto logit = [&](int64_t token, int64_t at, double by) {
    std::vector<double> values = embedding.to_vector<double>();
    values[static_cast<size_t>(token * embedding.size(2) + at)] += by;
    Capture moved({"embedding"});
    moved.read("embedding", from_vector(values, embedding.shape()));
    Patch patch(moved);
    const Tensor logits = model_(input_, {.probe = &patch}).logits;
    return logits.to_vector<double>()[static_cast<size_t>(logits.count() - logits.size(-1) + 1)];
  };
  double square = 0;
  for (int64_t at = 0; at < embedding.size(2); ++at)
    square += std::pow((logit(1, at, 1e-5) - logit(1, at, -1e-5)) / 2e-5, 2);
  EXPECT_NEAR(found[1], std::sqrt(square), 1e-5 * std::max(1.0, std::sqrt(square)));
}

TEST_P(Explain, LogitAttributionAddsUpToTheLogit) {
  if (model_.transformer().spec().head.transform) {
    expect_throws<UnsupportedError>([&] { direct_logit_attribution(model_, input_); },
                                    {"direct_logit_attribution", "one linear layer"});
    return;
  }
  for (const int64_t output : {-1, 0, 2}) {
    const LogitAttribution found = direct_logit_attribution(model_, input_, {.output = output});
    double sum = 0;
    for (const LogitAttribution::Part& part : found.parts) sum += part.value;
    EXPECT_NEAR(sum, found.logit, 1e-9 * std::max(1.0, std::abs(found.logit)));
    EXPECT_GT(found.parts.size(), 8U);
  }
}

TEST_P(Explain, TheLensOfTheLastLayerIsTheModel) {
  const NoGrad no_grad;
  Capture capture({"*.*.block"});
  const Tensor logits = model_(input_, {.probe = &capture}).logits;
  const TransformerSpec& spec = model_.transformer().spec();
  const std::string stack = spec.decoder ? "decoder." : "encoder.";
  const auto at = [&](size_t layer) {
    return logit_lens(model_, capture.value(stack + std::to_string(layer) + ".block"))
        .to_vector<double>();
  };
  const size_t last = spec.last_stack().blocks.size() - 1;
  EXPECT_EQ(at(last), logits.to_vector<double>());
  EXPECT_NE(at(last - 1), logits.to_vector<double>());
}

INSTANTIATE_TEST_SUITE_P(All, Explain,
                         ::testing::Values(kGpt2, kLlama, kBart, kVit, "bert-masked-lm"));

TEST(Explained, RefusesWhatIsNotThere) {
  const Model model = Model::create(kGpt2, 3);
  const TransformerInput input = small_input(model);
  expect_throws<IndexError>([&] { gradient_saliency(model, input, {.output = 40}); },
                            {"0 to 39", "40"});
  expect_throws<IndexError>([&] { gradient_saliency(model, input, {.position = 6}); },
                            {"0 to 5", "6"});
  TransformerInput shorter;
  shorter.input_ids = testing::row_of({1, 2});
  expect_throws<ShapeError>([&] { integrated_gradients(model, input, shorter); },
                            {"integrated_gradients", "[1, 2, 24]"});
  expect_throws<ValueError>([&] { integrated_gradients(model, input, input, {}, 0); }, {"points"});
}

}  // namespace
}  // namespace glassformer
