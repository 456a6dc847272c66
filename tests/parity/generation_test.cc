// Token for token what transformers' generate() gives, on models of every family that generates.
// The cases are made by tools/fixtures/generation.py.

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/json.h"
#include "decoding/toy_model.h"
#include "glassformer/models/model.h"
#include "glassformer/ops/ops.h"

namespace glassformer {
namespace {

std::filesystem::path fixtures() { return GLASSFORMER_FIXTURES_DIR; }

Tensor row_of(const std::vector<int64_t>& ids) {
  return from_vector(ids, {1, static_cast<int64_t>(ids.size())});
}

// Runs the model over the whole sequence at each step.
class Recomputing {
 public:
  Recomputing(const Model& model, std::vector<int64_t> source)
      : model_(model), source_(std::move(source)) {}
  std::vector<float> operator()(const std::vector<int64_t>& ids) const {
    TransformerInput input;
    if (source_.empty()) {
      input.input_ids = row_of(ids);
    } else {
      input.input_ids = row_of(source_);
      input.decoder_input_ids = row_of(ids);
    }
    const Tensor logits = model_(input).logits;
    const std::vector<float> all = logits.to_vector<float>();
    return {all.end() - logits.size(-1), all.end()};
  }

 private:
  const Model& model_;
  std::vector<int64_t> source_;
};

std::vector<Hypothesis> generate(const Model& model, const GenerationOptions& options,
                                 const std::vector<int64_t>& prompt) {
  SearchInput input;
  input.vocabulary_size = 96;
  const bool two_stacks = model.transformer().spec().encoder.has_value();
  input.prompt = two_stacks ? std::vector{options.decoder_start_token_id.value()} : prompt;
  if (two_stacks) input.source = prompt;
  const auto search = make_search(options, input);
  testing::run_search(*search, input.prompt, Recomputing(model, input.source));
  return search->results();
}

// The folder's options with those of a case over them.
GenerationOptions options_of(const std::filesystem::path& folder, const Json& changes) {
  Json json = read_json(folder / "generation_config.json");
  json.update(changes);
  return parse_generation_options(json.dump(), "case");
}

// The largest difference of scores from those of the fixture.
double compare(const Hypothesis& ours, const Json& theirs) {
  EXPECT_EQ(ours.ids, theirs["ids"].get<std::vector<int64_t>>());
  double error = 0;
  if (theirs.contains("score"))
    error = std::abs(static_cast<double>(ours.score) - theirs["score"].get<double>());
  if (!theirs.contains("token_scores")) return error;
  const auto scores = theirs["token_scores"].get<std::vector<double>>();
  EXPECT_EQ(ours.token_scores.size(), scores.size());
  for (size_t i = 0; i < std::min(scores.size(), ours.token_scores.size()); ++i)
    error = std::max(error, std::abs(static_cast<double>(ours.token_scores[i]) - scores[i]));
  return error;
}

class Generation : public ::testing::TestWithParam<std::string> {};

TEST_P(Generation, EqualsHuggingFace) {
  const std::string model_name = GetParam().substr(0, GetParam().find('.'));
  const auto folder = fixtures() / "models" / model_name;
  const Model model = Model::open(folder);
  double largest = 0;
  const Json fixture = read_json(fixtures() / "decoding" / (GetParam() + ".json"));
  for (const Json& one : fixture["cases"]) {
    SCOPED_TRACE(one["name"].get<std::string>());
    const GenerationOptions options = options_of(folder, one["options"]);
    for (size_t i = 0; i < one["prompts"].size(); ++i) {
      const auto results = generate(model, options, one["prompts"][i].get<std::vector<int64_t>>());
      ASSERT_EQ(results.size(), one["outputs"][i].size());
      for (size_t j = 0; j < results.size(); ++j)
        largest = std::max(largest, compare(results[j], one["outputs"][i][j]));
    }
  }
  std::cout << GetParam() << ": largest error of a score " << largest << "\n";
  EXPECT_LT(largest, 1e-4);  // measured: at most 3.1e-5, of a score of -276
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(fixtures() / "decoding"))
    if (entry.path().extension() == ".json" && entry.path().stem() != "processors")
      names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Generation, ::testing::ValuesIn(names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace glassformer
