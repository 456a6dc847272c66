// Processors and warpers against transformers' own: tools/fixtures/processors.py.

#include <cmath>

#include <gtest/gtest.h>

#include "base/json.h"
#include "decoding/processor.h"
#include "decoding/sampling.h"
#include "decoding/select.h"
#include "glassformer/base/error.h"
#include "kernels/host_log_softmax.h"
#include "support/fixture.h"
#include "support/throws.h"

namespace glassformer {
namespace {

std::vector<double> softmax(std::span<const float> scores) {
  const double max = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
  std::vector<double> p;
  double sum = 0;
  for (const float score : scores)
    sum += p.emplace_back(std::exp(static_cast<double>(score) - max));
  for (double& x : p) x /= sum;
  return p;
}

std::vector<float> floats(const testing::Fixture& fixture, const std::string& name) {
  const auto values = fixture.doubles(name);
  return {values.begin(), values.end()};
}

TEST(Processors, EqualHuggingFace) {
  const auto fixture = testing::Fixture::load("decoding/processors.safetensors");
  const auto ids = fixture.meta_json("ids").get<std::vector<int64_t>>();
  SearchInput input{.prompt = ids, .source = fixture.meta_json("source")};
  input.prompt.resize(fixture.meta_json("prompt").get<size_t>());
  double largest = 0;
  const Json cases = fixture.meta_json("cases");
  for (const auto& [name, options] : cases.items()) {
    std::vector<float> scores = floats(fixture, "scores");
    apply(make_processors(parse_generation_options(options.dump(), name), input), scores, ids);
    const auto ours = softmax(scores), theirs = softmax(floats(fixture, name));
    double error = 0;
    for (size_t i = 0; i < ours.size(); ++i) error = std::max(error, std::abs(ours[i] - theirs[i]));
    EXPECT_LT(error, 1e-6) << name;
    largest = std::max(largest, error);
  }
  std::cout << "largest error of a probability " << largest << "\n";
}

TEST(Processors, PresenceAndFrequencyCountNewTokens) {
  const GenerationOptions options{.presence_penalty = 0.5, .frequency_penalty = 0.25};
  const std::vector<int64_t> ids = {0, 1, 2, 2, 3};
  std::vector<float> scores(5, 1);
  apply(make_processors(options, {.prompt = {0, 1}}), scores, ids);
  EXPECT_EQ(scores, (std::vector<float>{1, 1, 0, 0.25, 1}));
}

TEST(LogSoftmax, EqualsDoublePrecision) {
  double largest = 0;
  for (const size_t size : {1U, 7U, 16U, 1000U, 50257U}) {
    std::vector<float> row(size);
    for (size_t i = 0; i < size; ++i) row[i] = static_cast<float>(40 * uniform({5, size}, i) - 20);
    if (size > 3) row[2] = -std::numeric_limits<float>::infinity();
    double sum = 0;
    for (const float x : row) sum += std::exp(static_cast<double>(x));
    const std::vector<float> before = row;
    log_softmax(row);
    for (size_t i = 0; i < size; ++i)
      if (std::isfinite(before[i]))
        largest = std::max(largest, std::abs(static_cast<double>(row[i]) -
                                             (static_cast<double>(before[i]) - std::log(sum))));
  }
  std::cout << "largest error of a log-probability " << largest << "\n";
  EXPECT_LT(largest, 6e-6);
}

TEST(TopCandidates, EqualSortingEverything) {
  std::vector<std::vector<float>> rows(3, std::vector<float>(500));
  std::vector<Candidate> all;
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t i = 0; i < rows[r].size(); ++i) {
      // Few different values, so that there are ties.
      rows[r][i] = static_cast<float>(std::floor(40 * uniform({1, r}, i)));
      all.push_back({rows[r][i], static_cast<int32_t>(r), static_cast<int32_t>(i)});
    }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  for (const size_t k : {1U, 10U, 700U, 2000U}) {
    TopCandidates top;
    top.start(k);
    for (size_t r = 0; r < rows.size(); ++r) top.add(rows[r], static_cast<int32_t>(r), 0);
    const auto found = top.sorted();
    ASSERT_EQ(found.size(), std::min(k, all.size()));
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].row, all[i].row);
      EXPECT_EQ(found[i].token, all[i].token);
    }
  }
}

TEST(GenerationConfig, ReadsTheFields) {
  const GenerationOptions o = parse_generation_options(
      R"({"num_beams": 4, "early_stopping": "never", "eos_token_id": [1, 2], "max_length": null,
          "force_words_ids": [[5, 6], [[7], [8]]], "bad_words_ids": [[3]], "top_p": 0.5,
          "transformers_version": "5", "cache_implementation": "hybrid", "stop_strings": "x"})",
      "file");
  EXPECT_EQ(o.num_beams, 4);
  EXPECT_EQ(o.early_stopping, EarlyStopping::kNever);
  EXPECT_EQ(o.eos_token_id, (TokenIds{1, 2}));
  EXPECT_FALSE(o.max_length);
  EXPECT_EQ(o.force_words_ids, (std::vector<std::vector<TokenIds>>{{{5, 6}}, {{7}, {8}}}));
  EXPECT_EQ(o.stop_strings, std::vector<std::string>{"x"});
}

TEST(GenerationConfig, SaysWhatIsWrong) {
  const auto reading = [](const char* json) {
    return [=] { parse_generation_options(json, "file"); };
  };
  using testing::expect_throws;
  expect_throws<FileError>(reading(R"({"top_p": "high"})"),
                           "file: field 'top_p' must be a number, found \"high\"");
  expect_throws<FileError>(reading(R"({"early_stopping": 3})"), "true, false or \"never\"");
  expect_throws<FileError>(reading(R"({"bad_words_ids": [3]})"), "bad_words_ids");
  expect_throws<FileError>(reading(R"({"force_words_ids": [["a"]]})"), "force_words_ids");
  expect_throws<FileError>(reading(R"({"eos_token_id": 1.5})"), "an id or a list of ids");
}

}  // namespace
}  // namespace glassformer
