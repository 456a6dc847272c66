#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glassformer {

// The character at `at` of valid UTF-8, which is moved past it.
inline char32_t next_character(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return text[at++];
  if (lead < 0xE0) {
    at += 2;
    return (lead & 0x1F) << 6 | (byte(at - 1) & 0x3F);
  }
  if (lead < 0xF0) {
    at += 3;
    return (lead & 0x0F) << 12 | (byte(at - 2) & 0x3F) << 6 | (byte(at - 1) & 0x3F);
  }
  at += 4;
  return (lead & 0x07) << 18 | (byte(at - 3) & 0x3F) << 12 | (byte(at - 2) & 0x3F) << 6 |
         (byte(at - 1) & 0x3F);
}

inline bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The character that ends before `end` (at least 1) of valid UTF-8.
inline char32_t last_character(std::string_view text) {
  size_t at = text.size() - 1;
  while (is_continuation(text[at])) --at;
  return next_character(text, at);
}

// Bytes of the character that begins with `lead`.
inline size_t character_size(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

inline size_t utf8_size(char32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

void append_utf8(std::string& text, char32_t c);
std::string to_utf8(char32_t c);
std::u32string to_utf32(std::string_view text);
size_t count_characters(std::string_view text);

// The length of the longest valid prefix: text.size() where all of it is UTF-8.
size_t valid_utf8(std::string_view text);
// Every maximal invalid part becomes U+FFFD, as the Unicode standard recommends. `origins`, unless
// null, gets the place in `text` of each byte of the result, and that of its end.
std::string replace_invalid_utf8(std::string_view text, std::vector<size_t>* origins = nullptr);

bool is_ascii(std::string_view text);

}  // namespace glassformer
