#include "text/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "text/utf8.h"

namespace glassformer {
namespace {

struct Alphabet {
  std::array<char32_t, 256> character{};
  std::array<int16_t, 512> byte{};
};

constexpr Alphabet kAlphabet = [] {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.byte) byte = -1;
  char32_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    const char32_t c = printable ? static_cast<char32_t>(byte) : next++;
    alphabet.character[static_cast<size_t>(byte)] = c;
    alphabet.byte[c] = static_cast<int16_t>(byte);
  }
  return alphabet;
}();

}  // namespace

char32_t byte_to_character(unsigned char byte) { return kAlphabet.character[byte]; }

int character_to_byte(char32_t c) { return c < 512 ? kAlphabet.byte[c] : -1; }

std::optional<std::string> to_bytes(std::string_view text) {
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    const int byte = character_to_byte(next_character(text, at));
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string from_bytes(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes)
    append_utf8(text, byte_to_character(static_cast<unsigned char>(byte)));
  return text;
}

}  // namespace glassformer
