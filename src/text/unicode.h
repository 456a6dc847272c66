#pragma once

#include <cstdint>
#include <string>

namespace glassformer {

// What the `tokenizers` package takes characters to be. Its parts follow different versions of
// Unicode, so these are its own tables (tools/fixtures/unicode_tables.py), not those of a library.
enum CharacterFlag : uint16_t {
  kSpace = 1 << 0,    // White_Space
  kNumeric = 1 << 1,  // Nd, Nl, No
  kRemoved = 1 << 2,  // what BERT's cleaning removes: Cc (but tab and line ends), Cf, Co, U+FFFD
  kPunctuation = 1 << 3,  // P, and every ASCII symbol
  kNonspacing = 1 << 4,   // Mn, for BERT's accents
  kMark = 1 << 5,         // M, for StripAccents
  kWord = 1 << 6,         // \w of the Whitespace pre-tokenizer and of single-word tokens
  kRegexWord = 1 << 7,    // \w of Split and Replace
  kNormalises = 1 << 8,   // decomposes, or has a combining class
  kNewer = 1 << 14,       // its category is not that of Unicode 14; bits 9 to 13 hold the category
};
// General categories, as regular expressions see them.
enum class Category : uint8_t {
  // clang-format off
  Cn, Lu, Ll, Lt, Lm, Lo, Mn, Mc, Me, Nd, Nl, No, Pc, Pd, Ps, Pe, Pi, Pf, Po,
  Sm, Sc, Sk, So, Zs, Zl, Zp, Cc, Cf, Co,
  // clang-format on
};

// The flags of every character, with its category.
class CharacterTable {
 public:
  static const CharacterTable& get();

  uint16_t operator[](char32_t c) const {
    return c < 0x110000 ? blocks_[block_[c >> kBlockBits]][c & (kBlock - 1)] : 0;
  }

 private:
  static constexpr int kBlockBits = 8;
  static constexpr int kBlock = 1 << kBlockBits;

  CharacterTable();

  uint16_t block_[0x110000 >> kBlockBits];
  std::basic_string<uint16_t> values_;
  uint16_t (*blocks_)[kBlock];
};

inline bool has_flag(char32_t c, uint16_t flags) { return (CharacterTable::get()[c] & flags) != 0; }
inline bool is_space(char32_t c) {
  return c < 0x80 ? c == ' ' || (c >= '\t' && c <= '\r') : has_flag(c, kSpace);
}
inline Category category(char32_t c) {
  return static_cast<Category>(CharacterTable::get()[c] >> 9 & 0x1F);
}
inline bool is_letter(char32_t c) {
  if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
  const Category kind = category(c);
  return kind >= Category::Lu && kind <= Category::Lo;
}
inline bool is_number(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const Category kind = category(c);
  return kind >= Category::Nd && kind <= Category::No;
}
inline bool is_chinese(char32_t c) {  // as BERT has it
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) ||
         (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

// One character to one; U+0130, which becomes two, is left to the caller.
char32_t to_lower(char32_t c);

// Full decomposition; appends to `out`.
void decompose(char32_t c, bool compatible, std::u32string& out);
uint8_t combining_class(char32_t c);
// The character that `a` and `b` compose to, or 0.
char32_t compose(char32_t a, char32_t b);

}  // namespace glassformer
