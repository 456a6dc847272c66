// Token for token what transformers' generate() gives, on models of every family that generates.
// The cases are made by tools/fixtures/generation.py.

#include <algorithm>
#include <iostream>

#include <gtest/gtest.h>

#include "base/json.h"
#include "glassformer/decoding/engine.h"

namespace glassformer {
namespace {

std::filesystem::path fixtures() { return GLASSFORMER_FIXTURES_DIR; }

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
    std::vector<GenerationRequest> requests;
    for (const Json& prompt : one["prompts"])
      requests.push_back({.ids = prompt.get<TokenIds>(), .options = options});
    const std::vector<GenerationResult> all = generate(model, requests);
    for (size_t i = 0; i < all.size(); ++i) {
      const std::vector<Hypothesis>& results = all[i].hypotheses;
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
