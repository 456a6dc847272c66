#pragma once

#include <cstdint>

namespace glassformer {

// A number for the script of a character, as the UnicodeScripts pre-tokenizer has it: Hiragana and
// Katakana count as Han.
constexpr uint8_t kAnyScript = 0;
uint8_t script_of(char32_t c);

}  // namespace glassformer
