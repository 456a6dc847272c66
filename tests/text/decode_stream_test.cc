#include "glassformer/text/decode_stream.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "text/text_lines.h"
#include "text/utf8.h"

namespace glassformer::testing {
namespace {

Tokenizer fixture(const char* name) {
  return Tokenizer::open(std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "text" / name);
}

class DecodeStreams : public ::testing::TestWithParam<const char*> {};

// Put together, the parts are the whole; and each of them is whole characters.
TEST_P(DecodeStreams, GiveTheTextInParts) {
  const Tokenizer tokenizer = fixture(GetParam());
  EncodeOptions options;
  options.file_settings = false;
  for (const std::string& line : text_lines(1500)) {
    const std::vector<int64_t> ids = tokenizer.encode(line, options).ids;
    DecodeStream stream(tokenizer, false);
    std::string text;
    for (const int64_t id : ids) {
      const std::string part = stream.add(id);
      ASSERT_EQ(valid_utf8(part), part.size()) << line;
      text += part;
    }
    text += stream.finish();
    EXPECT_EQ(text, tokenizer.decode(ids, false)) << line;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DecodeStreams,
                         ::testing::Values("gpt2.tokenizer.json", "llama2.tokenizer.json",
                                           "bert.tokenizer.json", "t5.tokenizer.json", "bpe.model"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           return name.substr(0, name.find('.'));
                         });

TEST(DecodeStream, HoldsHalfACharacterBack) {
  const Tokenizer tokenizer = fixture("gpt2.tokenizer.json");
  const std::vector<int64_t> ids = tokenizer.encode("\xF0\x93\x80\x80").ids;
  ASSERT_GT(ids.size(), 1);
  DecodeStream stream(tokenizer);
  for (size_t i = 0; i + 1 < ids.size(); ++i) EXPECT_EQ(stream.add(ids[i]), "");
  EXPECT_EQ(stream.add(ids.back()), "\xF0\x93\x80\x80");
  EXPECT_EQ(stream.finish(), "");
}

TEST(DecodeStream, GivesUpOnWhatIsNoText) {
  const Tokenizer tokenizer = fixture("gpt2.tokenizer.json");
  const auto id = tokenizer.token_to_id("\xC3\xBF");  // the byte 0xFF
  ASSERT_TRUE(id.has_value());
  DecodeStream stream(tokenizer);
  std::string text;
  for (int i = 0; i < 20; ++i) text += stream.add(*id);
  EXPECT_FALSE(text.empty());
  text += stream.finish();
  EXPECT_EQ(text.size(), 20 * 3);
}

}  // namespace
}  // namespace glassformer::testing
