#include "glassformer/training/metrics.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/json.h"
#include "glassformer/base/error.h"
#include "glassformer/training/dataset.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

using Texts = std::vector<std::string>;

// What sacreBLEU gave (tools/fixtures/translation_scores.py).
const Json& fixture() {
  static const Json json = read_json(std::filesystem::path(GLASSFORMER_FIXTURES_DIR) /
                                     "training/translation_scores.json");
  return json;
}

// The first `count` references of every sentence, or of sentence `only`.
std::vector<Texts> references_of(size_t count, std::optional<size_t> only = {}) {
  std::vector<Texts> references;
  for (size_t r = 0; r < count; ++r) {
    references.push_back(fixture()["references"][r].get<Texts>());
    if (only) references.back() = {references.back()[*only]};
  }
  return references;
}

BleuOptions bleu_options(const Json& json) {
  const JsonFields fields(json, "options");
  const std::string tokenizer = fields.text("tokenize", "13a");
  const std::string smoothing = fields.text("smooth_method", "exp");
  using Tokenizer = BleuOptions::Tokenizer;
  using Smoothing = BleuOptions::Smoothing;
  BleuOptions options;
  options.tokenizer = tokenizer == "intl"   ? Tokenizer::kIntl
                      : tokenizer == "none" ? Tokenizer::kNone
                      : tokenizer == "char" ? Tokenizer::kChar
                                            : Tokenizer::k13a;
  options.smoothing = smoothing == "floor"   ? Smoothing::kFloor
                      : smoothing == "add-k" ? Smoothing::kAddK
                      : smoothing == "none"  ? Smoothing::kNone
                                             : Smoothing::kExp;
  if (fields.has("smooth_value")) options.smoothing_value = fields.number("smooth_value");
  options.lowercase = fields.boolean("lowercase", false);
  options.effective_order = fields.boolean("effective_order", false);
  return options;
}

// Scores are 0 to 100; all were measured to be within 1e-13.
constexpr double kTolerance = 1e-9;

TEST(Bleu, EqualsSacreBleu) {
  const auto hypotheses = fixture()["hypotheses"].get<Texts>();
  ASSERT_GE(hypotheses.size(), 200U);
  for (const Json& entry : fixture()["bleu"]) {
    SCOPED_TRACE(entry["signature"]);
    BleuOptions options = bleu_options(entry["options"]);
    const auto count = entry["references"].get<size_t>();
    const BleuScore score = bleu(hypotheses, references_of(count), options);
    EXPECT_NEAR(score.score, entry["score"], kTolerance);
    EXPECT_NEAR(score.brevity_penalty, entry["bp"], kTolerance);
    EXPECT_EQ(score.length, entry["length"]);
    EXPECT_EQ(score.reference_length, entry["reference_length"]);
    EXPECT_EQ(score.signature, entry["signature"].get<std::string>());
    for (size_t n = 0; n < BleuScore::kOrder; ++n) {
      EXPECT_NEAR(score.precisions[n], entry["precisions"][n], kTolerance);
      if (options.smoothing == BleuOptions::Smoothing::kAddK) continue;  // sacreBLEU's have k added
      EXPECT_EQ(score.counts[n], entry["counts"][n]);
      EXPECT_EQ(score.totals[n], entry["totals"][n]);
    }
    options.effective_order = true;
    for (size_t i = 0; i < hypotheses.size(); ++i)
      EXPECT_NEAR(bleu(std::span(hypotheses).subspan(i, 1), references_of(count, i), options).score,
                  entry["sentences"][i], kTolerance)
          << i << ": " << Json(hypotheses[i]).dump();
  }
}

TEST(Chrf, EqualsSacreBleu) {
  const auto hypotheses = fixture()["hypotheses"].get<Texts>();
  for (const Json& entry : fixture()["chrf"]) {
    SCOPED_TRACE(entry["signature"]);
    const JsonFields fields(entry["options"], "options");
    const ChrfOptions options{.char_order = static_cast<int>(fields.integer("char_order", 6)),
                              .word_order = static_cast<int>(fields.integer("word_order", 0)),
                              .beta = static_cast<int>(fields.integer("beta", 2)),
                              .lowercase = fields.boolean("lowercase", false),
                              .whitespace = fields.boolean("whitespace", false),
                              .epsilon = fields.boolean("eps_smoothing", false)};
    const auto count = entry["references"].get<size_t>();
    const ChrfScore score = chrf(hypotheses, references_of(count), options);
    EXPECT_NEAR(score.score, entry["score"], kTolerance);
    EXPECT_EQ(score.name, entry["name"].get<std::string>());
    EXPECT_EQ(score.signature, entry["signature"].get<std::string>());
    for (size_t i = 0; i < hypotheses.size(); ++i)
      EXPECT_NEAR(chrf(std::span(hypotheses).subspan(i, 1), references_of(count, i), options).score,
                  entry["sentences"][i], kTolerance)
          << i << ": " << Json(hypotheses[i]).dump();
  }
}

TEST(Bleu, RefusesSides) {
  const Texts two{"a", "b"};
  const std::vector<Texts> none, one{{"a"}};
  expect_throws<ValueError>([&] { bleu(two, one); }, "each of 2 sentences, found 1");
  expect_throws<ValueError>([&] { bleu(two, none); }, "found 2 and 0");
  expect_throws<ValueError>([&] { chrf({}, one); }, "found 0 and 1");
  expect_throws<ValueError>([&] { chrf(std::span(two).first(1), one, {.char_order = 0}); },
                            "positive orders");
  EXPECT_DOUBLE_EQ(chrf(std::vector<std::string>{"a\xFF"}, std::vector<Texts>{{"a\xFE"}}).score,
                   100);
}

TEST(ClassScores, ByHand) {
  // Class 1: 2 of 3 predicted are right, of 4 asked for. Class 0: 1 of 3, of 2. Class 2 occurs
  // once, predicted only.
  const std::vector<int64_t> predicted{1, 1, 1, 0, 0, 0, 2, 5};
  const std::vector<int64_t> asked{1, 1, 0, 1, 1, 0, 7, kIgnoredTarget};
  EXPECT_DOUBLE_EQ(accuracy(predicted, asked), 3.0 / 7);
  const ClassScores binary = class_scores(predicted, asked, Average::kBinary);
  EXPECT_DOUBLE_EQ(binary.precision, 2.0 / 3);
  EXPECT_DOUBLE_EQ(binary.recall, 2.0 / 4);
  EXPECT_DOUBLE_EQ(binary.f1, 4.0 / 7);
  const ClassScores macro = class_scores(predicted, asked, Average::kMacro);  // of 0, 1, 2 and 7
  EXPECT_DOUBLE_EQ(macro.precision, (1.0 / 3 + 2.0 / 3) / 4);
  EXPECT_DOUBLE_EQ(macro.recall, (1.0 / 2 + 2.0 / 4) / 4);
  EXPECT_DOUBLE_EQ(macro.f1, (2.0 / 5 + 4.0 / 7) / 4);
  const ClassScores micro = class_scores(predicted, asked, Average::kMicro);
  EXPECT_DOUBLE_EQ(micro.precision, 3.0 / 7);
  EXPECT_DOUBLE_EQ(micro.f1, 3.0 / 7);
  EXPECT_EQ(accuracy({}, {}), 0);
  EXPECT_EQ(class_scores({}, {}, Average::kMacro).f1, 0);
  EXPECT_DOUBLE_EQ(perplexity(std::log(17.0)), 17);
  expect_throws<ShapeError>([&] { accuracy(std::span(predicted).first(2), asked); }, "found 2");
}

}  // namespace
}  // namespace glassformer::testing
