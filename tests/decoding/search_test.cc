#include "glassformer/decoding/search.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "decoding/beam_search.h"
#include "decoding/toy_model.h"
#include "glassformer/base/error.h"
#include "glassformer/decoding/stop_text.h"
#include "glassformer/decoding/token_vocabulary.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using testing::generate;
using testing::ToyModel;

constexpr int64_t kEnd = 0;

// Log-probability of a whole sequence.
double score_of(const ToyModel& model, std::vector<int64_t> ids, const std::vector<int64_t>& said) {
  double score = 0;
  for (const int64_t token : said) {
    const std::vector<float> row = model.logits(ids);
    score += static_cast<double>(score_target(row, std::span(&token, 1)).token_scores[0]);
    ids.push_back(token);
  }
  return score;
}

// The best of all sequences that end or have the full length.
std::pair<double, std::vector<int64_t>> exhaustive(const ToyModel& model,
                                                   const std::vector<int64_t>& prompt,
                                                   std::vector<int64_t> said, size_t length) {
  if (said.size() == length || (!said.empty() && said.back() == kEnd))
    return {score_of(model, prompt, said), said};
  std::pair<double, std::vector<int64_t>> best = {-1e30, {}};
  for (int64_t token = 0; token < model.vocabulary(); ++token) {
    said.push_back(token);
    best = std::max(best, exhaustive(model, prompt, said, length));
    said.pop_back();
  }
  return best;
}

TEST(BeamSearch, OneBeamIsGreedy) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const ToyModel model(50, seed);
    const SearchInput input{.prompt = {3, 4}, .vocabulary_size = 50};
    const GenerationOptions options{.max_new_tokens = 12, .eos_token_id = {kEnd}};
    BeamSearch search(options, input);
    testing::run_search(search, input.prompt, [&](const auto& ids) { return model.logits(ids); });
    const auto beam = search.results(), greedy = generate(model, options, input);
    ASSERT_EQ(beam.size(), 1U);
    EXPECT_EQ(beam[0].ids, greedy[0].ids);
    EXPECT_NEAR(beam[0].score, greedy[0].score, 1e-5);
    EXPECT_EQ(beam[0].reason, greedy[0].reason);
  }
}

TEST(BeamSearch, AsWideAsTheVocabularyIsExhaustive) {
  constexpr int64_t kVocabulary = 5, kLength = 4;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const ToyModel model(kVocabulary, seed);
    const auto best = exhaustive(model, {1}, {}, kLength);
    const GenerationOptions options{.max_new_tokens = kLength,
                                    .num_beams = kVocabulary * kVocabulary * kVocabulary,
                                    .length_penalty = 0,
                                    .early_stopping = EarlyStopping::kNever,
                                    .eos_token_id = {kEnd}};
    const auto beam = generate(model, options, {.prompt = {1}});
    EXPECT_EQ(beam[0].ids, best.second) << seed;
    EXPECT_NEAR(beam[0].score, best.first, 1e-5);
  }
}

// A wider beam is not always better step by step, so this counts over many models, and the widest
// must reach the best there is.
TEST(BeamSearch, NeverBeatsTheBestAndWiderFindsItMoreOften) {
  int found[3] = {};
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const ToyModel model(4, seed);
    const double best = exhaustive(model, {1}, {}, 5).first;
    for (const int width : {2, 8, 64}) {
      const GenerationOptions options{.max_new_tokens = 5,
                                      .num_beams = width,
                                      .length_penalty = 0,
                                      .early_stopping = EarlyStopping::kNever,
                                      .eos_token_id = {kEnd}};
      const double score = static_cast<double>(generate(model, options, {.prompt = {1}})[0].score);
      EXPECT_LE(score, best + 1e-5);
      if (score > best - 1e-5) ++found[width == 2 ? 0 : width == 8 ? 1 : 2];
    }
  }
  EXPECT_LE(found[0], found[1]);
  EXPECT_LE(found[1], found[2]);
  EXPECT_EQ(found[2], 40);
}

TEST(BeamSearch, ResultsAreDifferentAndBestFirst) {
  const ToyModel model(30, 5);
  const GenerationOptions options{.max_new_tokens = 8,
                                  .num_return_sequences = 6,
                                  .num_beams = 6,
                                  .length_penalty = 0.6,
                                  .eos_token_id = {kEnd, 1}};
  const auto results = generate(model, options, {.prompt = {2}});
  ASSERT_EQ(results.size(), 6U);
  std::set<std::vector<int64_t>> different;
  for (size_t i = 0; i < results.size(); ++i) {
    different.insert(results[i].ids);
    if (i > 0) {
      EXPECT_GE(results[i - 1].score, results[i].score);
    }
    EXPECT_NEAR(results[i].score,
                score_of(model, {2}, results[i].ids) /
                    std::pow(static_cast<double>(results[i].ids.size()), 0.6),
                1e-5);
  }
  EXPECT_EQ(different.size(), results.size());
}

TEST(BeamSearch, GroupsDiffer) {
  const ToyModel model(30, 9);
  GenerationOptions options{.max_new_tokens = 6,
                            .num_return_sequences = 4,
                            .num_beams = 4,
                            .num_beam_groups = 4,
                            .diversity_penalty = 100};
  const auto results = generate(model, options, {.prompt = {2}});
  // With a penalty this high no two groups say the same token at the same time.
  for (size_t i = 0; i < results.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      for (size_t k = 0; k < 6; ++k) EXPECT_NE(results[i].ids[k], results[j].ids[k]);
}

TEST(BeamSearch, SaysRequiredWords) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const ToyModel model(40, seed);
    const GenerationOptions options{.max_new_tokens = 10,
                                    .num_beams = 4,
                                    .force_words_ids = {{{7, 8, 9}}, {{20}, {21, 22}}},
                                    .eos_token_id = {kEnd}};
    const auto ids = generate(model, options, {.prompt = {2}})[0].ids;
    const auto has = [&](std::vector<int64_t> phrase) {
      return std::search(ids.begin(), ids.end(), phrase.begin(), phrase.end()) != ids.end();
    };
    EXPECT_TRUE(has({7, 8, 9})) << seed;
    EXPECT_TRUE(has({20}) || has({21, 22})) << seed;
  }
}

TEST(BeamSearch, CoveragePrefersWhatLooksAtTheSource) {
  // Two tokens of equal probability; after token 1 the model looks at the second word too.
  for (const double beta : {0.0, 1.0}) {
    const GenerationOptions options{.max_new_tokens = 2, .num_beams = 2, .coverage_penalty = beta};
    const auto search =
        make_search(options, {.prompt = {0}, .source = {5, 6}, .vocabulary_size = 2});
    EXPECT_EQ(search->wants_attention(), beta > 0);
    std::vector<float> logits = {0.1F, 0};
    const std::vector<float> first = {1, 0}, then = {1, 0, 0, 1};
    const auto live = search->advance({.logits = logits, .attention = first});
    ASSERT_EQ(live.size(), 2U);
    ASSERT_EQ(live[0].token, 0);
    logits = {5, 0, 5, 0};
    EXPECT_TRUE(search->advance({.logits = logits, .attention = then}).empty());
    EXPECT_EQ(search->results()[0].ids[0], beta > 0 ? 1 : 0);
  }
}

TEST(BeamSearch, SampledBeamsRepeatWithTheirSeed) {
  const ToyModel model(60, 3);
  GenerationOptions options{.max_new_tokens = 8, .do_sample = true, .seed = 11, .num_beams = 3};
  const auto first = generate(model, options, {.prompt = {2}});
  EXPECT_EQ(first[0].ids, generate(model, options, {.prompt = {2}})[0].ids);
  options.seed = 12;
  EXPECT_NE(first[0].ids, generate(model, options, {.prompt = {2}})[0].ids);
}

TEST(Search, StopLeavesWhatIsThere) {
  const ToyModel model(30, 4);
  for (const int64_t beams : {1, 3}) {
    const GenerationOptions options{.max_new_tokens = 8, .num_beams = beams, .return_tree = true};
    const auto search = make_search(options, {.prompt = {2}, .vocabulary_size = 30});
    std::vector<float> logits = model.logits(std::vector<int64_t>{2});
    search->advance({.logits = logits});
    EXPECT_TRUE(search->results().empty());
    search->stop();
    const auto results = search->results();
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].ids.size(), 1U);
    EXPECT_EQ(results[0].reason, FinishReason::kStopped);
  }
}

TEST(Search, FindsStopStringsAcrossTokens) {
  const TokenVocabulary vocabulary({"", "ab", "c", "dS", "TO", "P.", "x"});
  const std::vector<int64_t> script = {1, 2, 3, 4, 5, 6, 6};
  for (const char* stop : {"STOP", "OP", "TO", "P", "cdSTOP."}) {
    const GenerationOptions options{.max_new_tokens = 7, .stop_strings = {"zzz", stop}};
    const auto search =
        make_search(options, {.prompt = {6}, .vocabulary_size = 7, .vocabulary = &vocabulary});
    testing::run_search(*search, {6}, [&](const auto& ids) {
      std::vector<float> row(7, 0);
      row[static_cast<size_t>(script[ids.size() - 1])] = 5;
      return row;
    });
    const Hypothesis result = search->results()[0];
    EXPECT_EQ(result.reason, FinishReason::kStopString) << stop;
    EXPECT_EQ(result.stop_string, stop);
    EXPECT_EQ(result.ids.size(), std::string(stop) == "TO" ? 4U : 5U) << stop;
  }
}

TEST(StopText, HoldsBackWhatMayBecomeAStopString) {
  StopText text({"STOP", "ab"});
  EXPECT_EQ(text.add("hello S"), "hello ");
  EXPECT_EQ(text.add("TO"), "");
  EXPECT_EQ(text.add("Sa"), "STOS");
  EXPECT_EQ(text.add("x"), "ax");
  EXPECT_EQ(text.add("yST"), "y");
  EXPECT_EQ(text.add("OP and more"), "");
  EXPECT_TRUE(text.stopped());
  EXPECT_EQ(text.add("more"), "");
  EXPECT_EQ(text.finish(), "");
  StopText open({"STOP"});
  EXPECT_EQ(open.add("ST"), "");
  EXPECT_EQ(open.finish(), "ST");
  // However it is cut, the same text comes out.
  const std::string whole = "aabSSTTSTOSSTOP tail";
  for (size_t first = 0; first < whole.size(); ++first)
    for (size_t second = first; second < whole.size(); ++second) {
      StopText cut({"STOP"});
      std::string shown = cut.add(whole.substr(0, first));
      shown += cut.add(whole.substr(first, second - first));
      shown += cut.add(whole.substr(second));
      EXPECT_EQ(shown, "aabSSTTSTOS");
    }
}

TEST(Search, PrefixIsForcedAtTheModelsScores) {
  const ToyModel model(30, 4);
  for (const int64_t beams : {1, 3}) {
    const GenerationOptions options{
        .max_new_tokens = 5, .num_beams = beams, .length_penalty = 0, .prefix_ids = {9, 12}};
    const auto result = generate(model, options, {.prompt = {2}})[0];
    EXPECT_EQ(result.ids[0], 9);
    EXPECT_EQ(result.ids[1], 12);
    if (beams > 1) {
      EXPECT_NEAR(result.score, score_of(model, {2}, result.ids), 1e-5);
    }
  }
}

TEST(Search, SamplesRepeatWithTheirSeedAndFollowTheDistribution) {
  GenerationOptions options{
      .max_new_tokens = 1, .do_sample = true, .num_return_sequences = 1000, .top_k = 0};
  const std::vector<float> row = {0, std::log(2.0F), std::log(5.0F)};
  std::vector<int> counts(3);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    options.seed = seed;
    const auto search = make_search(options, {.prompt = {0}, .vocabulary_size = 3});
    std::vector<float> logits = row;
    search->advance({.logits = logits});
    for (const Hypothesis& one : search->results()) ++counts[static_cast<size_t>(one.ids[0])];
  }
  // 20000 draws: three standard deviations are below 0.011.
  EXPECT_NEAR(counts[0] / 20000.0, 1 / 8.0, 0.011);
  EXPECT_NEAR(counts[1] / 20000.0, 2 / 8.0, 0.011);
  EXPECT_NEAR(counts[2] / 20000.0, 5 / 8.0, 0.011);
}

TEST(Search, ConstraintsThatLeaveNothingEndInADeadEnd) {
  for (const int64_t beams : {1, 2}) {
    GenerationOptions options{.max_new_tokens = 4, .num_beams = beams};
    options.suppress_tokens = {0, 1, 2};
    const auto results = generate(ToyModel(3, 1), options, {.prompt = {1}});
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].reason, FinishReason::kDeadEnd);
    EXPECT_TRUE(results[0].ids.empty());
  }
}

TEST(Search, TreeHasEveryStep) {
  const ToyModel model(20, 4);
  const GenerationOptions options{.max_new_tokens = 5,
                                  .num_return_sequences = 2,
                                  .num_beams = 3,
                                  .eos_token_id = {kEnd},
                                  .return_tree = true};
  const auto search = make_search(options, {.prompt = {2}, .vocabulary_size = 20});
  testing::run_search(*search, {2}, [&](const auto& ids) { return model.logits(ids); });
  const BeamTree& tree = search->tree();
  const auto results = search->results();
  ASSERT_EQ(tree.results.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    std::vector<int64_t> ids;
    EXPECT_EQ(tree.nodes[static_cast<size_t>(tree.results[i])].score, results[i].score);
    for (int32_t node = tree.results[i]; node >= 0;
         node = tree.nodes[static_cast<size_t>(node)].parent)
      ids.insert(ids.begin(), tree.nodes[static_cast<size_t>(node)].token);
    EXPECT_EQ(ids, results[i].ids);
  }
  // Six are looked at in a step: twice the beams.
  std::map<int32_t, int> seen;
  for (const BeamTree::Node& node : tree.nodes) {
    ++seen[node.step];
    if (node.parent < 0) continue;
    const BeamTree::Node& parent = tree.nodes[static_cast<size_t>(node.parent)];
    EXPECT_EQ(parent.fate, BeamTree::Fate::kKept);
    EXPECT_EQ(parent.step + 1, node.step);
  }
  for (const auto& [step, count] : seen) EXPECT_EQ(count, 6) << step;
  EXPECT_NE(to_json(tree).find("\"fate\":\"dropped\""), std::string::npos);
}

TEST(Search, ScoresATarget) {
  const std::vector<float> logits = {0, 0, 1, 1, 1, 1};
  const std::vector<int64_t> target = {2, 0};
  const Hypothesis result = score_target(logits, target);
  const double first = 1 - std::log(2 + std::exp(1)), second = -std::log(3);
  EXPECT_NEAR(result.token_scores[0], first, 1e-6);
  EXPECT_NEAR(result.score, (first + second) / 2, 1e-6);
}

TEST(Search, RefusesWhatDoesNotFit) {
  using testing::expect_throws;
  const SearchInput input{.prompt = {1, 2, 3}, .vocabulary_size = 10};
  const auto make = [&](const GenerationOptions& options) {
    return [=] { make_search(options, input); };
  };
  expect_throws<ValueError>(make({.num_return_sequences = 3}),
                            "num_return_sequences 3 with greedy");
  expect_throws<ValueError>(make({.num_beams = 4, .num_beam_groups = 3}), "does not divide");
  expect_throws<ValueError>(make({.top_p = 1.5}), "top_p must be in (0, 1], found 1.5");
  expect_throws<ValueError>(make({.temperature = 0}), "temperature must be a number above 0");
  expect_throws<ValueError>(make({.max_new_tokens = 3, .min_new_tokens = 5}), "min_new_tokens 5");
  expect_throws<ValueError>(make({.max_length = 3}), "leaves no room");
  expect_throws<ValueError>(make({.stop_strings = {"x"}}), "need a tokenizer");
  expect_throws<IndexError>(make({.bad_words_ids = {{10}}}), "bad_words_ids");
  expect_throws<ValueError>(make({.num_beams = 2, .coverage_penalty = 1}), "needs a source");
  std::vector<float> logits(7);
  expect_throws<ShapeError>([&] { make_search({}, input)->advance({.logits = logits}); },
                            "1 live hypotheses × 10 tokens, found 7");
}

}  // namespace
}  // namespace glassformer
