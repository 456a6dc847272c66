#include "glassformer/text/tokenizer.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "glassformer/base/error.h"
#include "support/throws.h"
#include "text/shared_data.h"
#include "text/text_checksum.h"
#include "text/text_lines.h"
#include "text/utf8.h"

namespace glassformer::testing {
namespace {

const std::filesystem::path kFixtures = std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "text";

template <class List>
std::string numbers(const List& list) {
  return fmt::format("{}", fmt::join(list, " "));
}

// As describe() in tools/fixtures/tokenizer_cases.py writes it.
std::string describe_encoding(const Tokenizer& tokenizer, const Encoding& e) {
  std::vector<uint32_t> offsets;
  for (const TextRange& range : e.offsets) offsets.insert(offsets.end(), {range.begin, range.end});
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", numbers(e.ids), numbers(offsets),
                     numbers(e.type_ids), numbers(e.attention_mask), numbers(e.special_tokens_mask),
                     numbers(e.words), fmt::join(e.tokens, "\x1f"), tokenizer.decode(e.ids, true),
                     tokenizer.decode(e.ids, false));
}

EncodeOptions all_of_it() {
  EncodeOptions options;
  options.tokens = true;
  options.offsets = EncodeOptions::Offsets::kCharacters;
  return options;
}

// Ids, offsets, masks, words, spellings and decoded text equal those of the `tokenizers` package.
void expect_equal(const Tokenizer& tokenizer, const Json& expected) {
  const size_t singles = expected["lines"].size();
  constexpr size_t kBlock = 100;
  const std::vector<std::string> lines = text_lines(singles + expected["blocks"].size() * kBlock);
  int wrong = 0;
  const auto check = [&](const std::string& text, const Json& crc, size_t line) {
    if (checksum(text) == crc.get<std::string>() || ++wrong > 5) return;
    ADD_FAILURE() << "line " << line << ": " << Json(lines[line]).dump().substr(0, 300)
                  << "\nours:\n"
                  << text.substr(0, 1000);
  };
  for (size_t i = 0; i < singles; ++i)
    check(describe_encoding(tokenizer, tokenizer.encode(lines[i], all_of_it())),
          expected["lines"][i], i);
  for (size_t i = 0; i < expected["pairs"].size(); ++i)
    check(describe_encoding(tokenizer, tokenizer.encode(lines[i], lines[i + 1], all_of_it())),
          expected["pairs"][i], i);
  for (size_t b = 0; b < expected["blocks"].size(); ++b) {
    std::string block;
    for (size_t i = singles + b * kBlock; i < singles + (b + 1) * kBlock; ++i) {
      if (!block.empty()) block += '\0';
      block += describe_encoding(tokenizer, tokenizer.encode(lines[i], all_of_it()));
    }
    check(block, expected["blocks"][b], singles + b * kBlock);
  }
  EXPECT_EQ(wrong, 0);
}

class TrainedTokenizers : public ::testing::TestWithParam<std::string> {};

// On 20,000 lines, for a tokenizer of every style.
TEST_P(TrainedTokenizers, EqualThePackage) {
  expect_equal(Tokenizer::open(kFixtures / (GetParam() + ".tokenizer.json")),
               read_json(kFixtures / (GetParam() + ".expected.json")));
}

TEST(Tokenizers, TheRealGpt2EqualsThePackage) {
  const auto file = shared_data("tokenizers/gpt2/tokenizer.json");
  if (!file) GTEST_SKIP() << "no tokenizers/gpt2; set GLASSFORMER_DATA";
  expect_equal(Tokenizer::open(*file), read_json(kFixtures / "gpt2.shared.json"));
}

// Those of tools/fixtures/package_tokenizers.py.
TEST(Tokenizers, ThoseInPackagesEqualThePackage) {
  const char* folder = std::getenv("GLASSFORMER_PACKAGES");
  if (folder == nullptr) GTEST_SKIP() << "GLASSFORMER_PACKAGES does not name a folder";
  const Json expected = read_json(kFixtures / "packages.json");
  for (const auto& [name, sums] : expected["tokenizers"].items()) {
    SCOPED_TRACE(name);
    expect_equal(Tokenizer::open(std::filesystem::path(folder) / name), sums);
  }
}

std::vector<std::string> trained_styles() {
  constexpr std::string_view kEnding = ".tokenizer.json";
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(kFixtures)) {
    const std::string name = file.path().filename().string();
    if (name.ends_with(kEnding)) names.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, TrainedTokenizers, ::testing::ValuesIn(trained_styles()),
                         [](const auto& info) { return info.param; });

Tokenizer fixture(const char* name) {
  return Tokenizer::open(kFixtures / (std::string(name) + ".tokenizer.json"));
}

TEST(Tokenizers, ABatchIsItsTextsPadded) {
  const Tokenizer tokenizer = fixture("bert");
  const std::vector<std::string> texts = text_lines(300);
  EncodeOptions options;
  const std::vector<Encoding> plain = tokenizer.encode_batch(texts, options);
  options.padding = Padding{.multiple_of = 8, .side = Side::kLeft, .id = 7};
  const std::vector<Encoding> padded = tokenizer.encode_batch(texts, options);
  size_t longest = 0;
  for (const Encoding& one : plain) longest = std::max(longest, one.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(plain[i].ids, tokenizer.encode(texts[i]).ids);
    ASSERT_EQ(padded[i].size(), (longest + 7) / 8 * 8);
    const size_t count = padded[i].size() - plain[i].size();
    EXPECT_TRUE(std::equal(plain[i].ids.begin(), plain[i].ids.end(),
                           padded[i].ids.begin() + static_cast<std::ptrdiff_t>(count)));
    if (count > 0) {
      EXPECT_EQ(padded[i].ids[0], 7);
      EXPECT_EQ(padded[i].attention_mask[count - 1], 0);
      EXPECT_EQ(padded[i].special_tokens_mask[0], 1);
    }
  }
  expect_throws<ValueError>([&] { tokenizer.encode_batch(texts, std::span(texts).first(1)); },
                            "as many pairs");
}

Truncation truncation_of(const Json& setting) {
  using Strategy = Truncation::Strategy;
  const std::string strategy = setting["strategy"];
  return {.max_length = setting["max_length"],
          .strategy = strategy == "only_first"    ? Strategy::kOnlyFirst
                      : strategy == "only_second" ? Strategy::kOnlySecond
                                                  : Strategy::kLongestFirst,
          .stride = setting["stride"],
          .side = setting["direction"] == "left" ? Side::kLeft : Side::kRight};
}

TEST(Tokenizers, TruncationKeepsTheRestAsWindows) {
  const Tokenizer tokenizer = fixture("bert");
  EncodeOptions options;
  options.truncation = Truncation{.max_length = 6, .stride = 2};
  const std::string text = "the of and to in is you that it";
  const std::vector<int64_t> all = tokenizer.encode(text).ids;
  const Encoding cut = tokenizer.encode(text, options);
  ASSERT_EQ(cut.size(), 6);
  EXPECT_EQ(cut.ids[1], all[1]);
  ASSERT_FALSE(cut.overflowing.empty());
  EXPECT_EQ(cut.overflowing[0].ids[1], all[3]);
  EXPECT_EQ(cut.overflowing[0].ids.front(), all.front());
  EXPECT_EQ(cut.overflowing.back().ids[cut.overflowing.back().size() - 2], all[all.size() - 2]);
  options.truncation->max_length = 1;
  expect_throws<ValueError>([&] { tokenizer.encode(text, options); }, "at least the 2 special");
  options.truncation = Truncation{.max_length = 6, .strategy = Truncation::Strategy::kOnlySecond};
  expect_throws<ValueError>([&] { tokenizer.encode(text, options); }, "there is none");
}

// As windows() in tools/fixtures/tokenizer_cases.py does it.
TEST(Tokenizers, WindowsEqualThePackage) {
  constexpr size_t kLines = 300;
  std::vector<std::string> lines = text_lines(kLines);
  for (std::string& line : lines) {
    size_t end = 0;
    for (int i = 0; i < 40 && end < line.size(); ++i) end += character_size(line[end]);
    line.resize(end);
  }
  const Json expected = read_json(kFixtures / "windows.json");
  for (const auto& [name, settings] : expected.items()) {
    const Tokenizer tokenizer = fixture(name.c_str());
    for (const Json& setting : settings) {
      EncodeOptions options = all_of_it();
      options.truncation = truncation_of(setting);
      const auto all = [&](const auto& encode) {
        try {
          const Encoding whole = encode();
          std::string text = describe_encoding(tokenizer, whole);
          for (const Encoding& one : whole.overflowing)
            text += '\0' + describe_encoding(tokenizer, one);
          return text;
        } catch (const ValueError&) {
          return std::string("error");
        }
      };
      std::string singles;
      std::string pairs;
      for (size_t i = 0; i < kLines; ++i) {
        if (i > 0) singles += '\0';
        singles += all([&] { return tokenizer.encode(lines[i], options); });
        if (i + 1 == kLines) break;
        if (i > 0) pairs += '\0';
        pairs += all([&] { return tokenizer.encode(lines[i], lines[i + 1], options); });
      }
      EXPECT_EQ(checksum(singles), setting["lines"].get<std::string>()) << name << " " << setting;
      EXPECT_EQ(checksum(pairs), setting["pairs"].get<std::string>()) << name << " " << setting;
    }
  }
}

TEST(Tokenizers, OffsetsCountBytesOrCharacters) {
  const Tokenizer tokenizer = fixture("bert_cased");
  EncodeOptions options;
  options.file_settings = false;
  options.special_tokens = false;
  const Encoding bytes = tokenizer.encode("é a", options);
  options.offsets = EncodeOptions::Offsets::kCharacters;
  const Encoding characters = tokenizer.encode("é a", options);
  EXPECT_EQ(bytes.offsets.back(), (TextRange{3, 4}));
  EXPECT_EQ(characters.offsets.back(), (TextRange{2, 3}));
}

TEST(Tokenizers, ReadWhatIsNotUtf8AsTheReplacementCharacter) {
  const Tokenizer tokenizer = fixture("gpt2");
  for (const auto& [bytes, text] : {std::pair{"ab\xFF cd", "ab\uFFFD cd"},
                                    {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
                                    {"a\xE2\x82", "a\uFFFD"}}) {
    const Encoding broken = tokenizer.encode(bytes), whole = tokenizer.encode(text);
    EXPECT_EQ(broken.ids, whole.ids);
    // Offsets are those of the bytes that came.
    EXPECT_EQ(broken.offsets.back().end, std::string_view(bytes).size());
    for (const TextRange& range : broken.offsets) EXPECT_LE(range.begin, range.end);
  }
  EXPECT_EQ(tokenizer.decode(std::vector<int64_t>{-1, 1 << 30, INT64_MAX}), "");
}

// Every way in which a part of the file can be wrong is one FileError that names the place.
TEST(Tokenizers, RefuseBrokenFiles) {
  const std::string good =
      R"({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}})";
  EXPECT_NO_THROW(Tokenizer::from_json(good, "x"));
  const auto refuse = [](const char* json, std::initializer_list<const char*> parts) {
    expect_throws<FileError>([&] { Tokenizer::from_json(json, "t.json"); }, parts);
  };
  refuse("[]", {"t.json", "JSON object"});
  refuse("{}", {"model", "missing"});
  refuse(R"({"version": "2.0"})", {"version must be 1.0"});
  refuse(R"({"model": {"type": "Magic"}})", {"unknown model 'Magic'"});
  refuse(R"({"model": {"type": "BPE", "dropout": 0.1, "vocab": {}, "merges": []}})",
         {"dropout 0.1"});
  refuse(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})", {"merge 0", "'b'"});
  refuse(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}})", {"merge 0"});
  refuse(R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})", {"found -1"});
  refuse(R"({"model": {"type": "BPE", "vocab": {"a": 99999999999}, "merges": []}})",
         {"99999999999"});
  refuse(R"({"model": {"type": "BPE", "vocab": [], "merges": []}})", {"vocab"});
  refuse(R"({"model": {"type": "Unigram", "vocab": [["a", "b"]]}})", {"vocab[0]"});
  refuse(R"({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 5}})", {"unk_id"});
  const auto part = [&](const char* name, const char* value,
                        std::initializer_list<const char*> parts) {
    Json json = Json::parse(good);
    json[name] = Json::parse(value);
    refuse(json.dump().c_str(), parts);
  };
  part("normalizer", R"({"type": "Magic"})", {"normalizer", "'Magic'"});
  part("normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="})", {"trie"});
  part("normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "!"})", {"base64"});
  part("pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"})",
       {"'('"});
  part("pre_tokenizer",
       R"({"type": "Split", "pattern": {"Regex": "[a&&b]"}, "behavior": "Isolated"})", {"&&"});
  part("pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Odd"})",
       {"behavior"});
  part("pre_tokenizer", R"({"type": "Metaspace", "replacement": "ab"})", {"one character"});
  part("post_processor",
       R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}],
       "pair": [], "special_tokens": {}})",
       {"'x'", "special_tokens"});
  part("decoder", R"({"type": "Magic"})", {"decoder", "'Magic'"});
  part("added_tokens", R"([{"content": 3}])", {"added_tokens[0]", "content"});
  part("padding", R"({"strategy": {"Fixed": -1}})", {"at least 0"});
}

// A pattern that backtracks without end stops at a limit.
TEST(Tokenizers, HostilePatternsEnd) {
  const Tokenizer tokenizer = Tokenizer::from_json(
      R"({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
          "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a|a)+[bc]"}, "behavior": "Isolated",
                            "invert": false}})",
      "x");
  expect_throws<ValueError>([&] { tokenizer.encode(std::string(200, 'a')); }, "regular expression");
}

}  // namespace
}  // namespace glassformer::testing
