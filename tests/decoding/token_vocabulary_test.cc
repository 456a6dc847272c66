#include "glassformer/decoding/token_vocabulary.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace glassformer {
namespace {

Tokenizer open(const char* name) {
  return Tokenizer::open(std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "text" /
                         (std::string(name) + ".tokenizer.json"));
}

// The bytes of a text's tokens, put together, are the text (with a first space where the tokenizer
// puts one).
TEST(TokenVocabulary, BytesAddUpToTheText) {
  for (const char* name : {"gpt2", "llama2", "llama3", "qwen2", "t5", "gemma", "bert"}) {
    const Tokenizer tokenizer = open(name);
    const TokenVocabulary vocabulary(tokenizer,
                                     static_cast<int64_t>(tokenizer.vocabulary_size()) + 7);
    EXPECT_EQ(vocabulary.bytes(vocabulary.size() - 1), "");
    const std::string text = name == std::string("bert") ? "the cat is here" : "the cat  é 漢字 is";
    EncodeOptions plain;
    plain.special_tokens = false;
    const std::vector<int64_t> ids = tokenizer.encode(text, plain).ids;
    std::string bytes;
    for (const int64_t id : ids) bytes += vocabulary.bytes(id);
    if (vocabulary.drops_first_space() && bytes.starts_with(' ')) bytes.erase(0, 1);
    EXPECT_EQ(bytes, tokenizer.decode(ids)) << name;
  }
}

TEST(TokenVocabulary, SpecialTokensSayNothing) {
  const Tokenizer tokenizer = open("llama2");
  const TokenVocabulary vocabulary(tokenizer, static_cast<int64_t>(tokenizer.vocabulary_size()));
  EXPECT_TRUE(vocabulary.drops_first_space());
  EXPECT_EQ(vocabulary.bytes(tokenizer.special_ids().eos.value_or(2)), "");
  EXPECT_EQ(vocabulary.bytes(tokenizer.token_to_id("<0x0A>").value()), "\n");
  EXPECT_FALSE(TokenVocabulary(open("gpt2"), 300).drops_first_space());
}

}  // namespace
}  // namespace glassformer
