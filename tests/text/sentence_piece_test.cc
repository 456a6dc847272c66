#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/json.h"
#include "glassformer/base/error.h"
#include "glassformer/decoding/model_tokenizer.h"
#include "glassformer/text/tokenizer.h"
#include "support/throws.h"
#include "text/shared_data.h"
#include "text/text_checksum.h"
#include "text/text_lines.h"

namespace glassformer::testing {
namespace {

namespace fs = std::filesystem;
const fs::path kFixtures = fs::path(GLASSFORMER_FIXTURES_DIR) / "text";

// Ids and decoded text against checksums that the `sentencepiece` package gave.
void expect_equal(const fs::path& model, const Json& blocks) {
  constexpr size_t kBlock = 100;
  const Tokenizer tokenizer = Tokenizer::open(model);
  auto lines = text_lines(blocks.size() * kBlock);
  lines.back().clear();
  for (int i = 0; i < 20000; ++i) lines.back() += "the quick brown fox ";
  for (size_t b = 0; b < blocks.size(); ++b) {
    std::string text;
    for (size_t i = b * kBlock; i < (b + 1) * kBlock; ++i) {
      const Encoding e = tokenizer.encode(lines[i]);
      text += fmt::format("{}\n{}\n", fmt::join(e.ids, " "), tokenizer.decode(e.ids, false));
    }
    EXPECT_EQ(checksum(text), blocks[b].get<std::string>())
        << model << ", lines from " << b * kBlock;
  }
}

// Trained for the tests: unigram and byte-pair, with user-defined symbols, byte fallback and rules
// of normalisation.
TEST(SentencePiece, TrainedModelsEqualThePackage) {
  const Json expected = read_json(kFixtures / "sentencepiece.expected.json");
  ASSERT_FALSE(expected["trained"].empty());
  for (const auto& [name, blocks] : expected["trained"].items())
    expect_equal(kFixtures / name, blocks);
}

TEST(SentencePiece, RealModelsEqualThePackage) {
  const auto folder = shared_data("tokenizers/sentencepiece");
  if (!folder) GTEST_SKIP() << "no tokenizers/sentencepiece; set GLASSFORMER_DATA";
  const Json expected = read_json(kFixtures / "sentencepiece.expected.json");
  ASSERT_FALSE(expected["shared"].empty());
  for (const auto& [name, blocks] : expected["shared"].items())
    expect_equal(*folder / name, blocks);
}

// Those of tools/fixtures/package_tokenizers.py.
TEST(SentencePiece, ModelsInPackagesEqualThePackage) {
  const char* folder = std::getenv("GLASSFORMER_PACKAGES");
  if (folder == nullptr) GTEST_SKIP() << "GLASSFORMER_PACKAGES does not name a folder";
  const Json expected = read_json(kFixtures / "packages.json");
  for (const auto& [name, blocks] : expected["sentencepiece"].items())
    expect_equal(fs::path(folder) / name, blocks);
}

class GgufVocabularies : public ::testing::TestWithParam<const char*> {};

// The cases that llama.cpp has for each vocabulary, which come from Hugging Face's tokenizers.
TEST_P(GgufVocabularies, GiveTheirIds) {
  const auto folder = shared_data("tokenizers/gguf-vocab");
  if (!folder) GTEST_SKIP() << "no tokenizers/gguf-vocab; set GLASSFORMER_DATA";
  const fs::path file = *folder / (std::string(GetParam()) + ".gguf");
  const Tokenizer tokenizer = open_tokenizer(file);
  std::stringstream input;
  input << std::ifstream(file.string() + ".inp").rdbuf();
  std::string rest = input.str();
  std::ifstream output(file.string() + ".out");
  EncodeOptions options;
  options.special_tokens = false;
  options.split_special = true;
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  int cases = 0;
  for (std::string line; std::getline(output, line); ++cases) {
    const size_t end = rest.find(kSeparator);
    ASSERT_NE(end, rest.npos);
    const std::string text = rest.substr(0, end);
    rest.erase(0, end + kSeparator.size());
    std::stringstream numbers(line);
    std::vector<int64_t> ids;
    for (int64_t id = 0; numbers >> id;) ids.push_back(id);
    EXPECT_EQ(tokenizer.encode(text, options).ids, ids) << text;
  }
  // What is left after the last separator is the empty text.
  EXPECT_EQ(cases, 46);
  EXPECT_EQ(rest, "");
  EXPECT_TRUE(tokenizer.encode(rest, options).ids.empty());
}

INSTANTIATE_TEST_SUITE_P(All, GgufVocabularies, ::testing::Values("bert-bge", "gpt-2", "llama-spm"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(SentencePiece, BrokenModelsAreRefused) {
  std::ifstream file(kFixtures / "unigram.model", std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  const std::string whole = content.str();
  const fs::path path = fs::path(::testing::TempDir()) / "broken.model";
  const auto open = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return Tokenizer::open(path);
  };
  EXPECT_NO_THROW(open(whole));
  expect_throws<FileError>([&] { open(""); }, "without pieces");
  expect_throws<FileError>([&] { open("\x0A\xFF\xFF\xFF\xFF\x0F"); }, "not a SentencePiece model");
  for (size_t size = 1; size < whole.size(); size += 997) {
    try {
      open(whole.substr(0, size)).encode("text");
    } catch (const Error&) {
    }
  }
  fs::remove(path);
}

}  // namespace
}  // namespace glassformer::testing
