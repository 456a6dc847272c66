#include "glassformer/inspect/replace.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/autograd/no_grad.h"
#include "glassformer/base/error.h"
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

std::vector<float> logits_of(const Model& model, const TransformerInput& input,
                             Probe* probe = nullptr) {
  const NoGrad no_grad;
  return model(input, {.probe = probe}).logits.to_vector<float>();
}

// The weights that W_O has for one head, set to zero.
void zero_columns(const Model& model, const std::string& attention, int64_t head, int64_t size) {
  const NoGrad no_grad;
  for (const Parameter& parameter : model.transformer().parameters())
    if (parameter.name == attention + ".output.weight")
      fill_(slice(parameter.value, 1, head * size, (head + 1) * size), 0);
}

class Ablating : public ::testing::TestWithParam<std::tuple<const char*, const char*, DType>> {};

TEST_P(Ablating, AHeadIsZeroingItsColumnsOfTheOutputMatrix) {
  const auto [config, attention, dtype] = GetParam();
  const Model model = Model::create(config, 3, {.dtype = dtype});
  const TransformerInput input = small_input(model);
  Ablation ablation({std::string(attention) + ".head.2"});
  const std::vector<float> ablated = logits_of(model, input, &ablation);
  EXPECT_NE(ablated, logits_of(model, input));
  EXPECT_TRUE(ablation.unused().empty());
  zero_columns(model, attention, 2, 8);
  EXPECT_EQ(ablated, logits_of(model, input));
}

INSTANTIATE_TEST_SUITE_P(All, Ablating,
                         ::testing::Combine(::testing::Values(kGpt2, kLlama),
                                            ::testing::Values("decoder.0.self_attention",
                                                              "decoder.1.self_attention"),
                                            ::testing::Values(DType::kFloat32, DType::kBFloat16)));
INSTANTIATE_TEST_SUITE_P(Both, Ablating,
                         ::testing::Combine(::testing::Values(kBart),
                                            ::testing::Values("encoder.1.self_attention",
                                                              "decoder.1.cross_attention"),
                                            ::testing::Values(DType::kFloat32)));

TEST(Ablation, TakesPatternsAndSaysWhichFitNothing) {
  const Model model = Model::create(kGpt2, 3);
  Ablation ablation({"decoder.*.self_attention.head.*", "decoder.1.feed_forward.output",
                     "decoder.0.self_attention.head.7", "encoder.0.block"});
  Capture capture({"decoder.*.self_attention.concat", "decoder.1.feed_forward.output"});
  Probes both({&ablation, &capture});
  logits_of(model, small_input(model), &both);
  EXPECT_THAT(ablation.unused(),
              ::testing::ElementsAre("decoder.0.self_attention.head.7", "encoder.0.block"));
  EXPECT_EQ(capture.values().size(), 4U);
  for (const auto& [name, value] : capture.values())
    EXPECT_THAT(value.to_vector<float>(), ::testing::Each(0.0F)) << name;
}

TEST(Ablation, ToTheMeanOverTokens) {
  const NoGrad no_grad;
  const Model model = Model::create(kGpt2, 3);
  Capture before({"decoder.1.self_attention.heads"}), after({"decoder.1.self_attention.heads"});
  Ablation ablation({"decoder.1.self_attention.head.1"}, Ablation::To::kMean);
  Probes both({&ablation, &after});
  logits_of(model, small_input(model), &before);
  logits_of(model, small_input(model), &both);
  const Tensor was = before.value("decoder.1.self_attention.heads");
  const Tensor is = after.value("decoder.1.self_attention.heads");
  const std::vector<float> means = mean(select(was, 1, 1), {1}).to_vector<float>();
  for (int64_t token = 0; token < is.size(2); ++token)
    EXPECT_EQ(select(select(is, 1, 1), 1, token).to_vector<float>(), means);
  for (const int64_t other : {0, 2})
    EXPECT_EQ(select(is, 1, other).to_vector<float>(), select(was, 1, other).to_vector<float>());
}

class Patching : public ::testing::TestWithParam<const char*> {};

// What goes into the first layers decides everything behind them, and so does what comes out.
TEST_P(Patching, EverythingGivesTheOtherInputsLogits) {
  const Model model = Model::create(GetParam(), 3);
  const TransformerInput input = small_input(model), other = small_input(model, 3);
  Capture capture({"**"});
  const std::vector<float> expected = logits_of(model, other, &capture);
  ASSERT_NE(expected, logits_of(model, input));
  for (const std::vector<std::string>& patterns :
       {std::vector<std::string>{"**"},
        {"embedding", "decoder_embedding"},
        {"*.0.block"},
        {"decoder.1.block", "decoder.2.block"},
        {"encoder.*.block", "decoder.*.*_attention.heads", "decoder.*.feed_forward.hidden",
         "embedding", "decoder_embedding"}}) {
    Patch patch(capture, patterns);
    EXPECT_EQ(logits_of(model, input, &patch), expected) << patterns.front();
  }
}

// Every token, or every head, one by one is the same as all at once.
TEST_P(Patching, EveryRowAndEveryHeadIsEverything) {
  const Model model = Model::create(GetParam(), 3);
  const TransformerInput input = small_input(model), other = small_input(model, 3);
  Capture capture({"**"});
  logits_of(model, other, &capture);
  const std::string step = "decoder.1.self_attention.heads";
  const auto every = [&](int axis) {
    std::vector<int64_t> list(static_cast<size_t>(capture.value(step).size(axis)));
    std::iota(list.begin(), list.end(), int64_t{0});
    return list;
  };
  Patch all(capture, {step}), heads(capture, {step}, every(1)), rows(capture, {step}, {}, every(2));
  Patch one(capture, {step}, {1}), some(capture, {step}, {}, {1});
  const std::vector<float> patched = logits_of(model, input, &all);
  EXPECT_EQ(logits_of(model, input, &rows), patched);
  EXPECT_EQ(logits_of(model, input, &heads), patched);
  EXPECT_NE(logits_of(model, input, &some), patched);
  EXPECT_NE(logits_of(model, input, &one), patched);
}

INSTANTIATE_TEST_SUITE_P(All, Patching, ::testing::Values(kGpt2, kLlama, kBart));

TEST(Patch, RefusesAnotherLength) {
  const Model model = Model::create(kGpt2, 3);
  Capture capture({"decoder.0.block"});
  TransformerInput longer;
  longer.input_ids = testing::row_of({1, 2, 3, 4, 5, 6, 7});
  logits_of(model, longer, &capture);
  Patch patch(capture);
  expect_throws<ShapeError>([&] { logits_of(model, small_input(model), &patch); },
                            {"decoder.0.block", "[1, 6, 24]", "[1, 7, 24]"});
}

// Two readers with wishes of their own beside one that replaces: each is given what it asked for.
TEST(Probes, GiveEachReaderWhatItAskedFor) {
  const Model model = Model::create(kGpt2, 3);
  const std::string name = "decoder.1.self_attention.weights";
  Capture all({name}), head({name}, {2}), row({name}, {}, {3});
  Ablation earlier({"decoder.0.self_attention.scores"});
  for (Probes probes : {Probes({&all, &head, &row}), Probes({&earlier, &all, &head, &row})}) {
    logits_of(model, small_input(model), &probes);
    const Tensor whole = all.value(name);
    EXPECT_EQ(head.value(name).to_vector<float>(), slice(whole, 1, 2, 3).to_vector<float>());
    EXPECT_EQ(row.value(name).to_vector<float>(), slice(whole, 2, 3, 4).to_vector<float>());
  }
}

}  // namespace
}  // namespace glassformer
