#include "glassformer/text/train_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "glassformer/base/error.h"
#include "glassformer/base/threads.h"
#include "glassformer/text/tokenizer.h"
#include "support/throws.h"
#include "text/shared_data.h"
#include "text/text_checksum.h"
#include "text/text_lines.h"
#include "text/utf8.h"

namespace glassformer::testing {
namespace {

using Kind = TokenizerTraining::Kind;

const std::filesystem::path kFolder =
    std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "text" / "training";

std::vector<std::string> all_lines() { return text_lines(1500, 7); }

// Lines of Latin letters, as tools/fixtures/train_cases.py picks them.
std::vector<std::string> latin_lines() {
  std::vector<std::string> lines = all_lines();
  std::erase_if(lines, [](const std::string& line) {
    for (const char32_t c : to_utf32(line))
      if (c >= 0x180) return true;
    return false;
  });
  return lines;
}

TokenizerTraining seq2seq(Kind kind, int64_t size) {
  TokenizerTraining training;
  training.kind = kind;
  training.vocab_size = size;
  training.special_tokens = {"<pad>", "</s>", "<unk>"};
  training.unknown_token = "<unk>";
  training.single = "$A </s>";
  return training;
}

TokenizerTraining bert() {
  TokenizerTraining training;
  training.kind = Kind::kWordPiece;
  training.vocab_size = 1100;
  training.lowercase = true;
  training.min_frequency = 2;
  training.special_tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  training.unknown_token = "[UNK]";
  training.single = "[CLS] $A [SEP]";
  training.pair = "[CLS] $A [SEP] $B:1 [SEP]:1";
  return training;
}

// The tokens of the samples, as the package has them for the same tokenizer. `in_order`: where
// rounding decides between "2 22" and "22 2", either is right.
void expect_tokens(const Tokenizer& tokenizer, const std::string& name, bool in_order) {
  const Json expected = read_json(kFolder / (name + ".tokens.json"));
  const std::vector<std::string> lines = text_lines(400, 11);
  const std::span samples = std::span(lines).subspan(340);
  EncodeOptions options;
  options.tokens = true;
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t pair = i - samples.size();
    Encoding encoding = i < samples.size()
                            ? tokenizer.encode(samples[i], options)
                            : tokenizer.encode(samples[pair], samples[pair + 1], options);
    auto tokens = expected[i].get<std::vector<std::string>>();
    if (!in_order) {
      std::sort(tokens.begin(), tokens.end());
      std::sort(encoding.tokens.begin(), encoding.tokens.end());
    }
    EXPECT_EQ(encoding.tokens, tokens) << name << ", sample " << i;
  }
}

void expect_equal_steps(const Json& ours, Json theirs) {
  theirs.erase("model");
  for (const auto& [key, value] : theirs.items()) EXPECT_EQ(ours[key], value) << key;
}

// The whole file equals the package's: vocabulary, merges, and all steps around them.
void expect_equal(const std::string& name, std::span<const std::string> texts,
                  const TokenizerTraining& training) {
  const std::string text = train_tokenizer(texts, training);
  const Json ours = parse_json(text, name);
  const Json theirs = read_json(kFolder / (name + ".json"));
  expect_equal_steps(ours, theirs);
  for (const auto& [key, value] : theirs["model"].items())
    EXPECT_TRUE(ours["model"][key] == value) << key;
  expect_tokens(Tokenizer::from_json(text, name), name, true);
}

TEST(TrainTokenizer, ByteLevelBpeEqualsThePackage) {
  TokenizerTraining training;
  training.special_tokens = {"<|endoftext|>"};
  training.vocab_size = 900;
  expect_equal("byte_level", all_lines(), training);
  training.vocab_size = 2000;
  training.lowercase = true;
  training.min_frequency = 3;
  expect_equal("byte_level_lowercase", all_lines(), training);
}

TEST(TrainTokenizer, BpeEqualsThePackage) {
  TokenizerTraining training = seq2seq(Kind::kBpe, 900);
  training.special_tokens.emplace_back("th");
  expect_equal("joint_bpe", latin_lines(), training);
}

TEST(TrainTokenizer, WordPieceEqualsThePackage) {
  TokenizerTraining training = bert();
  const Json theirs = read_json(kFolder / "word_piece.json");
  for (const Json& token : theirs["added_tokens"])
    if (token["id"] >= training.special_tokens.size())
      training.special_tokens.push_back(token["content"]);
  expect_equal("word_piece", latin_lines(), training);
}

std::map<std::string, double> scores(const Json& tokenizer) {
  std::map<std::string, double> scores;
  for (const Json& row : tokenizer["model"]["vocab"]) scores[row[0]] = row[1];
  return scores;
}

void expect_equal_unigram(const std::string& name, const TokenizerTraining& training) {
  const std::string text = train_tokenizer(latin_lines(), training);
  const Json ours = parse_json(text, name);
  const Json theirs = read_json(kFolder / (name + ".json"));
  expect_equal_steps(ours, theirs);
  EXPECT_EQ(ours["model"]["unk_id"], theirs["model"]["unk_id"]);
  const auto a = scores(ours), b = scores(theirs);
  ASSERT_EQ(a.size(), b.size());
  // Measured: 4.1e-11. Two runs of the package, which adds up in another order each time, are as
  // far as 4.0e-11 from each other.
  constexpr double kTolerance = 1e-10;
  std::vector<double> characters, their_characters;
  for (const auto& [token, score] : b) {
    ASSERT_TRUE(a.contains(token)) << token;
    if (count_characters(token) > 1) {
      EXPECT_NEAR(a.at(token), score, kTolerance) << token;
    } else {
      characters.push_back(a.at(token));
      their_characters.push_back(score);
    }
  }
  // Characters that are put back share out the same scores in another order.
  std::sort(characters.begin(), characters.end());
  std::sort(their_characters.begin(), their_characters.end());
  for (size_t i = 0; i < characters.size(); ++i)
    EXPECT_NEAR(characters[i], their_characters[i], kTolerance);
  expect_tokens(Tokenizer::from_json(text, name), name, false);
}

TEST(TrainTokenizer, UnigramEqualsThePackage) {
  expect_equal_unigram("unigram", seq2seq(Kind::kUnigram, 300));
  TokenizerTraining training = seq2seq(Kind::kUnigram, 100000);
  training.max_piece_length = 6;
  expect_equal_unigram("unigram_seeds", training);
}

std::string joined(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, "\n"));
}

// On real text, by checksums: of tokens in the order of their ids and of merges, and of Unigram's
// pieces sorted.
TEST(TrainTokenizer, ShakespeareEqualsThePackage) {
  const auto file = shared_data("data/tiny-shakespeare/input.txt");
  if (!file) GTEST_SKIP() << "no data/tiny-shakespeare; set GLASSFORMER_DATA";
  std::vector<std::string> lines;
  std::ifstream stream(*file);
  for (std::string line; lines.size() < 8000 && std::getline(stream, line);) lines.push_back(line);
  const Json expected = read_json(kFolder / "shakespeare.json");

  TokenizerTraining training;
  training.vocab_size = 4000;
  const Json model = parse_json(train_tokenizer(lines, training), "bytes")["model"];
  std::vector<std::string> tokens(model["vocab"].size()), merges;
  for (const auto& [token, id] : model["vocab"].items()) tokens.at(id) = token;
  for (const Json& merge : model["merges"])
    merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  EXPECT_EQ(checksum(joined(tokens)), expected["tokens"].get<std::string>());
  EXPECT_EQ(checksum(joined(merges)), expected["merges"].get<std::string>());

  const Json unigram = parse_json(train_tokenizer(lines, seq2seq(Kind::kUnigram, 2000)), "unigram");
  std::vector<std::string> pieces;
  for (const auto& [piece, score] : scores(unigram)) pieces.push_back(piece);
  EXPECT_EQ(checksum(joined(pieces)), expected["pieces"].get<std::string>());
}

std::vector<TokenizerTraining> one_of_each() {
  TokenizerTraining bytes;
  bytes.vocab_size = 500;
  return {bytes, seq2seq(Kind::kBpe, 500), bert(), seq2seq(Kind::kUnigram, 500)};
}

TEST(TrainTokenizer, TheSameForAnyNumberOfThreads) {
  const std::vector<std::string> lines = latin_lines();
  const int threads = num_threads();
  for (const TokenizerTraining& training : one_of_each()) {
    set_num_threads(1);
    const std::string one = train_tokenizer(lines, training);
    set_num_threads(3);
    EXPECT_EQ(train_tokenizer(lines, training), one);
  }
  set_num_threads(threads);
}

TEST(TrainTokenizer, WhatIsEncodedDecodes) {
  const std::vector<std::string> lines = {"the cat sat on the mat", "a cat and a dog",
                                          "dogs and cats sat on mats"};
  for (TokenizerTraining training : one_of_each()) {
    const Tokenizer tokenizer = Tokenizer::from_json(train_tokenizer(lines, training), "trained");
    for (const std::string& line : lines)
      EXPECT_EQ(tokenizer.decode(tokenizer.encode(line).ids), line);
  }
}

// Continuing characters follow the alphabet, in the order of the characters.
TEST(TrainTokenizer, TokensAreNumberedInOrder) {
  TokenizerTraining training = bert();
  training.vocab_size = 14;
  const std::vector<std::string> lines = {"cab cab cb", "d"};
  const Tokenizer tokenizer = Tokenizer::from_json(train_tokenizer(lines, training), "trained");
  const std::vector<std::string> expected = {
      "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "##a", "##b", "ca", "cab"};
  ASSERT_EQ(tokenizer.vocabulary_size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(tokenizer.id_to_token(static_cast<int64_t>(i)), expected[i]);
}

TEST(TrainTokenizer, TheAlphabetIsLimitedAndExtended) {
  TokenizerTraining training = seq2seq(Kind::kBpe, 100);
  training.initial_alphabet = "ß";
  training.limit_alphabet = 4;  // ß, ▁, and the lower two of three characters of equal count
  const Tokenizer tokenizer = Tokenizer::from_json(
      train_tokenizer(std::vector<std::string>{"a b c \xff"}, training), "trained");
  for (const char* kept : {"ß", "▁", "a", "b"}) EXPECT_TRUE(tokenizer.token_to_id(kept)) << kept;
  EXPECT_FALSE(tokenizer.token_to_id("c"));
  EXPECT_EQ(tokenizer.encode("c").ids, (std::vector<int64_t>{*tokenizer.token_to_id("▁"), 2, 1}));
}

// One word of a letter gives nothing to prune, merge or put back.
TEST(TrainTokenizer, TheSmallestTextIsEnough) {
  for (TokenizerTraining training : one_of_each()) {
    const std::vector<std::string> texts = {"a"};
    const Tokenizer tokenizer = Tokenizer::from_json(train_tokenizer(texts, training), "trained");
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("a").ids), "a");
  }
}

TEST(TrainTokenizer, ProgressIsHeardAndMayStopIt) {
  for (const TokenizerTraining& training : one_of_each()) {
    std::set<std::string> stages;
    train_tokenizer(latin_lines(), training,
                    [&](std::string_view stage, int64_t done, int64_t total) {
                      stages.emplace(stage);
                      EXPECT_GE(done, 0);
                      EXPECT_LE(done, total);
                    });
    EXPECT_EQ(stages, (std::set<std::string>{
                          "words", training.kind == Kind::kUnigram ? "pieces" : "merges"}));
    expect_throws<ValueError>(
        [&] {
          train_tokenizer(latin_lines(), training,
                          [](std::string_view, int64_t, int64_t) { throw ValueError("stop"); });
        },
        "stop");
  }
}

TEST(TrainTokenizer, BadOptionsAreNamed) {
  const std::vector<std::string> lines = {"abc abd"};
  const auto fails = [&](const char* part, auto&& change) {
    for (TokenizerTraining training : one_of_each()) {
      change(training);
      expect_throws<ValueError>([&] { train_tokenizer(lines, training); }, part);
    }
  };
  using T = TokenizerTraining;
  fails("vocab_size must be at least", [](T& t) { t.vocab_size = 3; });
  fails("vocab_size must be at least 1", [](T& t) { t.vocab_size = 0; });
  fails("below 2^31", [](T& t) { t.vocab_size = int64_t{1} << 31; });
  fails("min_frequency", [](T& t) { t.min_frequency = -1; });
  fails("limit_alphabet", [](T& t) { t.limit_alphabet = -1; });
  fails("max_piece_length", [](T& t) { t.max_piece_length = 0; });
  fails("max_piece_length must be at most", [](T& t) { t.max_piece_length = 1001; });
  fails("n_sub_iterations", [](T& t) { t.n_sub_iterations = 0; });
  fails("shrinking_factor", [](T& t) { t.shrinking_factor = 1; });
  fails("found '<x>' twice", [](T& t) { t.special_tokens = {"[UNK]", "<unk>", "<x>", "<x>"}; });
  fails("special_tokens must not be empty", [](T& t) { t.special_tokens.emplace_back(); });
  fails("special_tokens must be UTF-8", [](T& t) { t.special_tokens.emplace_back("\xff"); });
  fails("initial_alphabet must be UTF-8", [](T& t) { t.initial_alphabet.assign(1, '\xff'); });
  fails("unknown_token must be one of", [](T& t) { t.unknown_token = "<none>"; });
  fails("single: must have $A once", [](T& t) { t.single = "$A $A"; });
  fails("single: must name $A, $B and special tokens, found '<e>'",
        [](T& t) { t.single = "$A <e>"; });
  fails("single: a type id must be", [](T& t) { t.single = "$A:x"; });
  fails("pair: must have $A and $B once", [](T& t) { t.single = "$A", t.pair = "$A:0"; });
  fails("needs one for a single text", [](T& t) { t.single = "", t.pair = "$A $B"; });
  for (const auto& texts : {std::vector<std::string>{}, {"", ""}})
    for (const TokenizerTraining& training : one_of_each())
      expect_throws<ValueError>([&] { train_tokenizer(texts, training); }, "must have a word");
  TokenizerTraining nameless = bert();
  nameless.unknown_token.clear();
  expect_throws<ValueError>([&] { train_tokenizer(lines, nameless); }, "needs an unknown_token");
}

}  // namespace
}  // namespace glassformer::testing
