#include "text/utf8.h"

#include <cstring>

namespace glassformer {
namespace {

// Bytes of the valid character at the front of `text`, or 0 where there is none; then `bad` is the
// length of the maximal part of a character that stands there, at least 1.
size_t valid_character(std::string_view text, size_t& bad) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  bad = 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte is where overlong forms, surrogates and values past U+10FFFF show.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < size; ++i) {
    if (i >= text.size()) return 0;
    if (i == 1 ? byte(1) < low || byte(1) > high : !is_continuation(text[i])) return 0;
    bad = i + 1;
  }
  return size;
}

}  // namespace

void append_utf8(std::string& text, char32_t c) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | c >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | c >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string to_utf8(char32_t c) {
  std::string text;
  append_utf8(text, c);
  return text;
}

std::u32string to_utf32(std::string_view text) {
  std::u32string characters;
  characters.reserve(text.size());
  for (size_t at = 0; at < text.size();) characters += next_character(text, at);
  return characters;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += !is_continuation(byte);
  return count;
}

size_t valid_utf8(std::string_view text) {
  size_t at = 0;
  size_t bad = 0;
  while (at < text.size()) {
    uint64_t word = 0;
    if (text.size() - at >= 8) std::memcpy(&word, text.data() + at, 8);
    if (text.size() - at >= 8 && (word & 0x8080808080808080) == 0) {
      at += 8;
      continue;
    }
    const size_t size = valid_character(text.substr(at), bad);
    if (size == 0) return at;
    at += size;
  }
  return at;
}

std::string replace_invalid_utf8(std::string_view text, std::vector<size_t>* origins) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string result;
  result.reserve(text.size());
  size_t at = 0;
  for (;;) {
    const size_t good = valid_utf8(text.substr(at));
    result += text.substr(at, good);
    for (size_t i = 0; origins != nullptr && i < good; ++i) origins->push_back(at + i);
    at += good;
    if (at == text.size()) break;
    result += kReplacement;
    if (origins != nullptr) origins->insert(origins->end(), kReplacement.size(), at);
    size_t bad = 1;
    valid_character(text.substr(at), bad);
    at += bad;
  }
  if (origins != nullptr) origins->push_back(text.size());
  return result;
}

bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char byte : text) all |= static_cast<unsigned char>(byte);
  return all < 0x80;
}

}  // namespace glassformer
