#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace glassformer {

// GPT-2's alphabet: every byte has a printable character, so that a vocabulary of bytes can be
// written as text. Printable bytes of Latin-1 stand for themselves, the others for U+0100 and up.
char32_t byte_to_character(unsigned char byte);
// The byte that a character stands for, or -1.
int character_to_byte(char32_t c);
// The bytes that a text of the alphabet stands for; nothing where another character is in it.
std::optional<std::string> to_bytes(std::string_view text);
std::string from_bytes(std::string_view bytes);

}  // namespace glassformer
