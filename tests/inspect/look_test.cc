#include "glassformer/inspect/look.h"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/base/error.h"
#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/inspect/heat_map.h"
#include "glassformer/inspect/rollout.h"
#include "glassformer/inspect/saliency.h"
#include "glassformer/ops/ops.h"
#include "inspect/small_models.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::expect_throws;
using ::testing::HasSubstr;
using testing::kBart;
using testing::kGpt2;
using testing::kLlama;
using testing::small_input;

Report::Side side_of(const Tensor& ids) {
  Report::Side side;
  for (const int64_t id : ids.to_vector<int64_t>()) {
    const auto start = static_cast<int64_t>(side.text.size());
    side.text += fmt::format(" t{}", id);
    side.tokens.push_back(
        {id, fmt::format(" t{}", id), start, static_cast<int64_t>(side.text.size())});
  }
  return side;
}

LookInput input_for(const Model& model) {
  LookInput look{.input = small_input(model)};
  const TransformerSpec& spec = model.transformer().spec();
  look.sides[spec.encoder ? "encoder" : "decoder"] = side_of(look.input.input_ids);
  if (spec.encoder && spec.decoder) {
    look.sides["decoder"] = side_of(look.input.decoder_input_ids);
    look.said_from = 1;
  }
  return look;
}

class Looking : public ::testing::TestWithParam<const char*> {
 protected:
  Model model_ = Model::create(GetParam(), 3);
  LookInput input_ = input_for(model_);
};

TEST_P(Looking, TensorsAreTheStepsOfTheModel) {
  const NoGrad no_grad;
  const Report report = look(model_, input_);
  Capture capture({"**"});
  const Tensor logits = model_(input_.input, {.probe = &capture}).logits;
  EXPECT_EQ(report.steps.attentions.size(), report.attentions.size());
  for (const auto& [name, tensor] : report.tensors) {
    const Tensor whole = select(capture.value(name), 0, 0);
    const int64_t row = report.steps.rows.at(name.substr(0, name.find('.')));
    const bool scores = name.ends_with("_scores"), all = whole.rank() == 3 && !scores;
    const Tensor expected = all ? whole : scores ? select(whole, 1, row) : select(whole, 0, row);
    EXPECT_EQ(tensor.to_vector<float>(), expected.to_vector<float>()) << name;
  }
  for (const Report::Attention& attention : report.attentions) {
    EXPECT_EQ(report.tensors.count(attention.name + ".weights"), 1U);
    EXPECT_EQ(attention.measures.at("entropy").size(), static_cast<size_t>(attention.heads));
  }
  const std::vector<float> last = softmax(select(select(logits, 0, 0), 0, -1)).to_vector<float>();
  ASSERT_EQ(report.prediction->kind, "next_token");
  for (const Report::Guess& guess : report.prediction->rows.front().top)
    EXPECT_NEAR(guess.probability, last[static_cast<size_t>(guess.id)], 1e-6);
}

TEST_P(Looking, FindsWhatTheLibraryFinds) {
  LookOptions options;
  options.rollout = LookOptions::Rollout::kAttention;
  options.saliency = LookOptions::Saliency::kGradient;
  options.lens = true;
  const Report report = look(model_, input_, options);
  const std::string side = report.layers.back().side;
  std::vector<Tensor> layers;
  for (const Report::Attention& attention : report.attentions)
    if (!attention.cross && attention.queries == side)
      layers.push_back(report.tensors.at(attention.name + ".weights"));
  EXPECT_EQ(report.tensors.at(report.rollout.at(side)).to_vector<float>(),
            attention_rollout(layers).to_vector<float>());
  EXPECT_EQ(report.tensors.at("saliency").to_vector<float>(),
            gradient_saliency(model_, input_.input).to_vector<float>());
  // The last layer says what the model says.
  const Report::Guess& last = report.lens.back().positions.back().front();
  EXPECT_EQ(last.id, report.prediction->rows.front().top.front().id);
  EXPECT_EQ(report.alignment.has_value(), report.sides.size() == 2);
}

TEST_P(Looking, WritesJsonAndSafetensors) {
  LookOptions options;
  options.lens = true;
  Report report = look(model_, input_, options);
  report.model.name = "a \"name\" </script>";
  report.sides.begin()->second.tokens[0].text = "\xFF\x01</script>";
  const Json json = parse_json(to_json(report), "report");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["model"]["name"], report.model.name);
  EXPECT_EQ(json["attentions"].size(), report.attentions.size());
  EXPECT_EQ(json["tensors"].size(), report.tensors.size());
  for (const auto& [name, tensor] : report.tensors) {
    const Json& entry = json["tensors"][name];
    EXPECT_EQ(entry["shape"].get<std::vector<int64_t>>(),
              std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end()));
    const std::vector<float> values = tensor.to_vector<float>();
    ASSERT_EQ(entry["data"].size(), values.size()) << name;
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i]))
        EXPECT_EQ(entry["data"][i].get<float>(), values[i]) << name;
      else
        EXPECT_TRUE(entry["data"][i].is_null()) << name;
    }
  }
  const testing::TemporaryFolder folder;
  write_report(folder.path() / "report.safetensors", report);
  const SafetensorsFile file(folder.path() / "report.safetensors");
  EXPECT_EQ(file.tensors().size(), report.tensors.size());
  EXPECT_EQ(file.metadata().at("report"), meta_json(report));
}

INSTANTIATE_TEST_SUITE_P(All, Looking, ::testing::Values(kGpt2, kLlama, kBart));

TEST(Look, KeepsTheLayersHeadsAndStepsAskedFor) {
  const Model model = Model::create(kGpt2, 3);
  const LookInput input = input_for(model);
  const Report all = look(model, input);
  LookOptions options{.layers = {1}, .heads = {2, 0}, .steps = false};
  options.probes = {"decoder.2.feed_forward.hidden"};
  const Report some = look(model, input, options);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : some.tensors) names.push_back(name);
  EXPECT_THAT(names,
              ElementsAre("decoder.1.self_attention.weights", "decoder.2.feed_forward.hidden"));
  const Tensor whole = all.tensors.at(names[0]), part = some.tensors.at(names[0]);
  EXPECT_EQ(select(part, 0, 0).to_vector<float>(), select(whole, 0, 2).to_vector<float>());
  EXPECT_EQ(select(part, 0, 1).to_vector<float>(), select(whole, 0, 0).to_vector<float>());
  EXPECT_THAT(some.attentions[1].kept_heads, ElementsAre(2, 0));
  EXPECT_EQ(some.tensors.at(names[1]).shape(), Shape({6, 96}));
  // Every head is measured all the same.
  EXPECT_EQ(some.attentions[1].measures.at("entropy"), all.attentions[1].measures.at("entropy"));
}

TEST(Look, SaysWhatAnAblationChanged) {
  const Model model = Model::create(kGpt2, 3);
  const LookInput input = input_for(model);
  LookOptions options;
  options.ablate = {"decoder.1.self_attention.head.1", "decoder.2.feed_forward.output"};
  const Report with = look(model, input), without = look(model, input, options);
  ASSERT_TRUE(without.ablation);
  EXPECT_EQ(without.ablation->before.rows.front().top.front().probability,
            with.prediction->rows.front().top.front().probability);
  EXPECT_NE(without.prediction->rows.front().top.front().probability,
            with.prediction->rows.front().top.front().probability);
  EXPECT_THAT(without.tensors.at("decoder.2.feed_forward.output").to_vector<float>(), Each(0.0F));
}

// The said tokens have the probabilities that the model gave them, each after those before it.
TEST(Look, ScoresWhatWasSaid) {
  const NoGrad no_grad;
  const Model model = Model::create(kBart, 3);
  const LookInput input = input_for(model);
  const Report report = look(model, input);
  ASSERT_TRUE(report.generation);
  ASSERT_EQ(report.generation->tokens.size(), 3U);
  const Tensor logits = select(model(input.input).logits, 0, 0);
  const std::vector<int64_t> ids = input.input.decoder_input_ids.to_vector<int64_t>();
  for (int64_t i = 1; i < 4; ++i) {
    const Report::Generation::Chosen& chosen =
        report.generation->tokens[static_cast<size_t>(i - 1)];
    const std::vector<float> row = softmax(select(logits, 0, i - 1)).to_vector<float>();
    EXPECT_EQ(chosen.token.id, ids[static_cast<size_t>(i)]);
    EXPECT_NEAR(chosen.token.probability, row[static_cast<size_t>(chosen.token.id)], 1e-6);
    EXPECT_EQ(chosen.alternatives.front().probability, chosen.alternatives.front().probability);
    EXPECT_NEAR(chosen.alternatives.front().probability, *std::max_element(row.begin(), row.end()),
                1e-6);
  }
}

// Over 1,024 tokens heads are measured by some rows; one head's map is kept all the same.
TEST(Look, MeasuresLongInputsBySomeRows) {
  const NoGrad no_grad;
  const Model model = Model::create(R"({"model_type": "gpt2", "vocab_size": 40, "n_embd": 16,
      "n_layer": 2, "n_head": 2, "n_positions": 1500, "initializer_range": 0.3})",
                                    3);
  std::vector<int64_t> ids(1500);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i * i % 37);
  LookInput input;
  input.input.input_ids = testing::row_of(ids);
  input.sides["decoder"] = side_of(input.input.input_ids);
  LookOptions one{.layers = {1}, .heads = {1}, .steps = false};
  const Report some = look(model, input, one), all = look(model, input, {.steps = false});
  const std::string name = "decoder.1.self_attention.weights";
  EXPECT_EQ(some.tensors.at(name).to_vector<float>(),
            slice(all.tensors.at(name), 0, 1, 2).to_vector<float>());
  for (const char* measure : {"entropy", "distance", "previous_token", "induction", "cls"})
    for (size_t head = 0; head < 2; ++head)
      EXPECT_NEAR(some.attentions[1].measures.at(measure)[head],
                  all.attentions[1].measures.at(measure)[head],
                  0.05 * all.attentions[1].measures.at(measure)[head] + 0.01)
          << measure;
}

TEST(Look, RefusesWhatIsNotThere) {
  const Model model = Model::create(kGpt2, 3);
  const LookInput input = input_for(model);
  expect_throws<IndexError>([&] { look(model, input, {.layers = {3}}); }, {"layer", "0 to 2", "3"});
  expect_throws<IndexError>([&] { look(model, input, {.heads = {-1}}); }, {"head", "0 to 2", "-1"});
  expect_throws<IndexError>([&] { look(model, input, {.row = 6}); }, {"row", "0 to 5", "6"});
  expect_throws<ValueError>([&] { look(model, input, {.probes = {"encoder.**"}}); },
                            {"probe 'encoder.**'", "decoder.0.norm_1"});
  expect_throws<ValueError>(
      [&] { look(model, input, {.ablate = {"decoder.0.self_attention.head.3"}}); },
      {"ablate 'decoder.0.self_attention.head.3'"});
  expect_throws<ValueError>([&] { look(model, LookInput{}); }, {"decoder", "none"});
}

TEST(HeatMaps, AreDrawnLargeOrAsAGrid) {
  const Model model = Model::create(kGpt2, 3);
  const LookInput input = input_for(model);
  const Report all = look(model, input), one = look(model, input, {.layers = {1}, .heads = {2}});
  const auto grid = heat_maps_of(all), single = heat_maps_of(one);
  ASSERT_EQ(grid.size(), 3U);
  ASSERT_EQ(grid[2].size(), 3U);
  EXPECT_EQ(grid[2][1].title, "decoder.2.self_attention, head 1");
  EXPECT_EQ(single[0][0].title, "decoder.1.self_attention, head 2");
  EXPECT_EQ(heat_maps_of(all, /*mean=*/true)[0].size(), 1U);
  const Image image = draw_heat_maps(single);
  EXPECT_EQ(image.width, 6 * 32);
  EXPECT_EQ(image.height, 6 * 32);
  // The first token sees itself alone; the last is not seen by the others.
  const Colour whole = weight_colour(1), none = weight_colour(0);
  EXPECT_THAT(std::vector<uint8_t>(image.row(0), image.row(0) + 3),
              ElementsAre(whole.red, whole.green, whole.blue));
  EXPECT_THAT(std::vector<uint8_t>(image.row(0) + 3 * 191, image.row(0) + 3 * 192),
              ElementsAre(none.red, none.green, none.blue));
  EXPECT_GT(draw_heat_maps(grid).width, 3 * 96);
  expect_throws<ValueError>([] { draw_heat_maps({}); }, {"none"});
}

TEST(HeatMaps, PoolToTheLargestWithin) {
  std::vector<float> values(35);
  values[0] = .25F, values[34] = .5F, values[17] = 1;
  const Tensor small = pooled(from_vector(values, {5, 7}), 2, 3);
  ASSERT_EQ(small.shape(), Shape({2, 3}));
  EXPECT_THAT(small.to_vector<float>(), ElementsAre(.25F, 1, 0, 0, 0, .5F));
  EXPECT_EQ(pooled(from_vector(values, {5, 7}), 9, 9).shape(), Shape({5, 7}));
}

TEST(HeatMaps, EscapeTokensInSvg) {
  HeatMap map{"</text><script>", zeros({1, 2}), {"<b>&\x01"}, {"</svg>", "\xFF\""}};
  const std::string svg = heat_maps_svg({{map}});
  EXPECT_THAT(svg, HasSubstr("&lt;/text&gt;&lt;script&gt;"));
  EXPECT_THAT(svg, HasSubstr("&lt;b&gt;&amp;\uFFFD"));
  EXPECT_THAT(svg, HasSubstr("\uFFFD&quot;"));
  EXPECT_EQ(svg.find("</svg>"), svg.size() - 7);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
}

}  // namespace
}  // namespace glassformer
