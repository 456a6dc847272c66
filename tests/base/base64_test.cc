#include "base/base64.h"

#include <string_view>

#include <gtest/gtest.h>

namespace glassformer {
namespace {

// The vectors of RFC 4648, section 10.
TEST(Base64, EncodesAsTheStandardSays) {
  const auto encoded = [](std::string_view text) {
    return encode_base64(std::as_bytes(std::span(text.data(), text.size())));
  };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xFB\xFF\xBF"), "+/+/");
}

}  // namespace
}  // namespace glassformer
