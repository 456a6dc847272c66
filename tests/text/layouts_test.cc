#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/json.h"
#include "glassformer/base/error.h"
#include "glassformer/text/tokenizer.h"
#include "support/throws.h"
#include "text/text_lines.h"

namespace glassformer::testing {
namespace {

namespace fs = std::filesystem;
const fs::path kFixtures = fs::path(GLASSFORMER_FIXTURES_DIR) / "text";

// A folder that goes away with the test.
class Layouts : public ::testing::Test {
 protected:
  Layouts() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / (std::string("layouts_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Layouts() override { fs::remove_all(folder_); }

  void write(const char* name, std::string_view text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  // The tokens of a fixture's vocabulary, in the order of their numbers.
  static std::vector<std::string> tokens(const Json& vocabulary) {
    std::vector<std::string> list(vocabulary.size());
    for (const auto& [token, id] : vocabulary.items()) list.at(id.get<size_t>()) = token;
    return list;
  }
  // Both give the same ids and the same text.
  void expect_same(const Tokenizer& one, const Tokenizer& other) {
    for (const std::string& line : text_lines(600)) {
      const std::vector<int64_t> ids = one.encode(line).ids;
      EXPECT_EQ(ids, other.encode(line).ids) << line;
      EXPECT_EQ(one.decode(ids), other.decode(ids)) << line;
    }
  }

  fs::path folder_;
};

TEST_F(Layouts, VocabTxtIsBert) {
  const Json json = read_json(kFixtures / "bert.tokenizer.json");
  std::string text;
  for (const std::string& token : tokens(json["model"]["vocab"])) text += token + "\n";
  write("vocab.txt", text);
  write("tokenizer_config.json",
        R"({"do_lower_case": true, "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
            "pad_token": "[PAD]", "mask_token": {"content": "[MASK]", "lstrip": false}})");
  const Tokenizer folder = Tokenizer::open(folder_);
  expect_same(folder, Tokenizer::open(kFixtures / "bert.tokenizer.json"));
  EXPECT_EQ(folder.special_ids().cls, folder.token_to_id("[CLS]"));
  EXPECT_EQ(folder.special_ids().bos, std::nullopt);
  EXPECT_TRUE(folder.is_special(*folder.special_ids().mask));
}

TEST_F(Layouts, VocabJsonAndMergesAreGpt2OrRoberta) {
  for (const char* name : {"gpt2", "roberta"}) {
    const Json json = read_json(kFixtures / (std::string(name) + ".tokenizer.json"));
    std::string merges = "#version: 0.2\n";
    for (const Json& merge : json["model"]["merges"])
      merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
    write("merges.txt", merges);
    Json vocabulary = json["model"]["vocab"];
    for (const Json& token : json["added_tokens"])
      vocabulary[token["content"].get<std::string>()] = token["id"];
    write("vocab.json", vocabulary.dump());
    const bool roberta = std::string(name) == "roberta";
    write("tokenizer_config.json",
          roberta ? R"({"tokenizer_class": "RobertaTokenizer", "add_prefix_space": true,
                        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
                        "pad_token": "<pad>", "mask_token": {"content": "<mask>", "lstrip": true,
                        "normalized": false}})"
                  : R"({"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|endoftext|>"})");
    expect_same(Tokenizer::open(folder_),
                Tokenizer::open(kFixtures / (std::string(name) + ".tokenizer.json")));
  }
  write("tokenizer_config.json", R"({"tokenizer_class": "CLIPTokenizer"})");
  expect_throws<FileError>([&] { Tokenizer::open(folder_); }, "CLIPTokenizer");
}

TEST_F(Layouts, MarianHasTwoModelsAndOneVocabulary) {
  fs::copy(kFixtures / "unigram.model", folder_ / "source.spm");
  fs::copy(kFixtures / "bpe_plain.model", folder_ / "target.spm");
  const Tokenizer source = Tokenizer::open(folder_ / "source.spm");
  const Tokenizer target = Tokenizer::open(folder_ / "target.spm");
  Json vocabulary = {{"</s>", 0}, {"<unk>", 1}, {">>fr<<", 2}};
  int64_t next = 3;
  for (const Tokenizer* one : {&source, &target})
    for (int64_t id = 0; const auto token = one->id_to_token(id); ++id)
      if (!vocabulary.contains(*token)) vocabulary[*token] = next++;
  vocabulary["<pad>"] = next;
  write("vocab.json", vocabulary.dump());
  write("tokenizer_config.json",
        R"({"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"})");
  const Tokenizer marian = Tokenizer::open(folder_);
  const Tokenizer writes = Tokenizer::open(folder_, true);
  EncodeOptions options;
  options.tokens = true;
  for (const char* text : {"the people can make it", "how many words", "don't write"}) {
    for (const auto& [whole, piece] : {std::pair{&marian, &source}, std::pair{&writes, &target}}) {
      std::vector<int64_t> expected;
      for (const int64_t id : piece->encode(text).ids)
        expected.push_back(vocabulary[*piece->id_to_token(id)].get<int64_t>());
      expected.push_back(0);
      EXPECT_EQ(whole->encode(text, options).ids, expected) << text;
    }
    EXPECT_EQ(writes.decode(writes.encode(text).ids), target.decode(target.encode(text).ids))
        << text;
  }
  EXPECT_EQ(marian.encode(">>fr<< the").ids.front(), 2);
  EXPECT_EQ(marian.special_ids().pad, next);
}

TEST_F(Layouts, SentencePieceTakesItsClassFromTheConfiguration) {
  fs::copy(kFixtures / "bpe.model", folder_ / "tokenizer.model");
  const Tokenizer bare = Tokenizer::open(folder_);
  std::vector<int64_t> ids = bare.encode("the people").ids;
  write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>",
        "eos_token": "</s>", "unk_token": "<unk>", "add_eos_token": true})");
  const Tokenizer llama = Tokenizer::open(folder_);
  ids.insert(ids.begin(), *bare.token_to_id("<s>"));
  ids.push_back(*bare.token_to_id("</s>"));
  EXPECT_EQ(llama.encode("the people").ids, ids);
  EXPECT_EQ(llama.special_ids().bos, bare.token_to_id("<s>"));
}

TEST_F(Layouts, ChatTemplatesComeWithTheFolder) {
  fs::copy(kFixtures / "llama3.tokenizer.json", folder_ / "tokenizer.json");
  EXPECT_FALSE(Tokenizer::open(folder_).has_chat_template());
  write(
      "tokenizer_config.json",
      R"({"bos_token": "<|begin_of_text|>", "chat_template": [{"name": "tool_use", "template": "t"},
            {"name": "default", "template": "{{ bos_token }}{{ messages[0].content }}"}]})");
  const std::vector<ChatMessage> messages = {{"user", "Hi"}};
  EXPECT_EQ(Tokenizer::open(folder_).chat_template().render(messages), "<|begin_of_text|>Hi");
  write("chat_template.jinja", "{{ messages[0].role }}\n");
  EXPECT_EQ(Tokenizer::open(folder_).chat_template().render(messages), "user");
  expect_throws<FileError>(
      [&] { Tokenizer::open(kFixtures / "bert.tokenizer.json").chat_template(); },
      "no chat template");
}

TEST_F(Layouts, AnEmptyFolderSaysWhatWasLookedFor) {
  expect_throws<FileError>([&] { Tokenizer::open(folder_); }, {"tokenizer.json", "vocab.txt"});
  expect_throws<FileError>([&] { Tokenizer::open(folder_ / "missing.json"); }, "missing.json");
}

}  // namespace
}  // namespace glassformer::testing
