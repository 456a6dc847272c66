#include "text/unicode.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include <utf8proc.h>

namespace glassformer {
namespace {

struct FlagRange {
  uint32_t first;
  uint16_t value;
};
struct LowerRange {
  uint32_t first, last;
  int step, delta;
};
#include "text/unicode_tables.inc"

}  // namespace

const CharacterTable& CharacterTable::get() {
  static const CharacterTable table;
  return table;
}

CharacterTable::CharacterTable() {
  // Equal blocks are shared: of 4352 some 250 differ.
  std::map<std::basic_string<uint16_t>, uint16_t> seen;
  std::vector<std::basic_string<uint16_t>> distinct;
  const FlagRange* range = std::begin(kFlagRanges);
  std::basic_string<uint16_t> block(kBlock, 0);
  for (uint32_t i = 0; i < std::size(block_); ++i) {
    for (uint32_t j = 0; j < kBlock; ++j) {
      const uint32_t c = i * kBlock + j;
      while (std::next(range) != std::end(kFlagRanges) && std::next(range)->first <= c) ++range;
      block[j] = range->value;
    }
    const auto [at, fresh] = seen.emplace(block, static_cast<uint16_t>(distinct.size()));
    if (fresh) distinct.push_back(block);
    block_[i] = at->second;
  }
  for (const auto& one : distinct) values_ += one;
  blocks_ = reinterpret_cast<uint16_t(*)[kBlock]>(values_.data());
}

char32_t to_lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  const auto* range =
      std::upper_bound(std::begin(kLowerRanges), std::end(kLowerRanges), c,
                       [](char32_t value, const LowerRange& r) { return value < r.first; });
  if (range == std::begin(kLowerRanges)) return c;
  --range;
  if (c > range->last || (c - range->first) % range->step != 0) return c;
  return static_cast<char32_t>(static_cast<int64_t>(c) + range->delta);
}

void decompose(char32_t c, bool compatible, std::u32string& out) {
  if (c < 0x80 || !has_flag(c, kNormalises)) {
    out += c;
    return;
  }
  utf8proc_int32_t buffer[32];
  int last_class = 0;
  const int options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  const auto count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), buffer, std::size(buffer),
                              static_cast<utf8proc_option_t>(options), &last_class);
  if (count <= 0 || count > static_cast<utf8proc_ssize_t>(std::size(buffer))) {
    out += c;
    return;
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i) out += static_cast<char32_t>(buffer[i]);
}

uint8_t combining_class(char32_t c) {
  if (c < 0x80 || !has_flag(c, kNormalises)) return 0;
  return static_cast<uint8_t>(
      utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class);
}

char32_t compose(char32_t a, char32_t b) {
  // Just below the final consonants of Hangul; utf8proc joins it with a syllable, and drops it.
  constexpr char32_t kNoFinal = 0x11A7;
  if (b == kNoFinal) return 0;
  utf8proc_int32_t pair[2] = {static_cast<utf8proc_int32_t>(a), static_cast<utf8proc_int32_t>(b)};
  const auto count = utf8proc_normalize_utf32(
      pair, 2, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  const auto result = static_cast<char32_t>(pair[0]);
  if (count != 1) return 0;
  // A composition that is younger than the tables of the package does not exist for it.
  return has_flag(result, kNormalises) ? result : 0;
}

}  // namespace glassformer
