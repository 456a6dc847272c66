#include "glassformer/text/tokenizer.h"

#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "glassformer/base/error.h"
#include "support/throws.h"
#include "text/text_lines.h"

namespace glassformer::testing {
namespace {

const std::filesystem::path kFixtures = std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "text";

uint32_t crc32(std::string_view text) {
  static const auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320 : 0);
      table[i] = value;
    }
    return table;
  }();
  uint32_t crc = ~0U;
  for (const char byte : text) crc = kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

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

class TrainedTokenizers : public ::testing::TestWithParam<std::string> {};

// Ids, offsets, masks, words, spellings and decoded text equal those of the `tokenizers` package on
// 20,000 lines, for a tokenizer of every style.
TEST_P(TrainedTokenizers, EqualThePackage) {
  const Tokenizer tokenizer = Tokenizer::open(kFixtures / (GetParam() + ".tokenizer.json"));
  const Json expected = read_json(kFixtures / (GetParam() + ".expected.json"));
  const size_t singles = expected["lines"].size();
  constexpr size_t kBlock = 100;
  const std::vector<std::string> lines = text_lines(singles + expected["blocks"].size() * kBlock);
  int wrong = 0;
  const auto check = [&](const std::string& text, const Json& crc, size_t line) {
    if (fmt::format("{:08x}", crc32(text)) == crc.get<std::string>() || ++wrong > 5) return;
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

}  // namespace
}  // namespace glassformer::testing
