#include "decoding/pattern.h"

#include <algorithm>
#include <array>

namespace glassformer {
namespace {

constexpr char32_t kLast = 0x10FFFF, kSurrogateLow = 0xD800, kSurrogateHigh = 0xDFFF;

PatternPtr make(Pattern pattern) { return std::make_shared<const Pattern>(std::move(pattern)); }

size_t encode(char32_t c, std::array<uint8_t, 4>& bytes) {
  const auto tail = [&](int shift) { return static_cast<uint8_t>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) return bytes = {static_cast<uint8_t>(c)}, 1;
  if (c < 0x800) return bytes = {static_cast<uint8_t>(0xC0 | c >> 6), tail(0)}, 2;
  if (c < 0x10000) return bytes = {static_cast<uint8_t>(0xE0 | c >> 12), tail(6), tail(0)}, 3;
  return bytes = {static_cast<uint8_t>(0xF0 | c >> 18), tail(12), tail(6), tail(0)}, 4;
}

// Splits a range until each piece is a sequence of independent ranges of bytes.
void add_utf8(char32_t low, char32_t high, std::vector<PatternPtr>& choices) {
  for (const char32_t last : {char32_t{0x7F}, char32_t{0x7FF}, char32_t{0xFFFF}})
    if (low <= last && high > last) {
      add_utf8(low, last, choices);
      add_utf8(last + 1, high, choices);
      return;
    }
  for (int bits = 6; high >= 0x80 && bits <= 18; bits += 6) {
    const char32_t mask = (char32_t{1} << bits) - 1;
    if ((low & ~mask) == (high & ~mask)) break;
    if ((low & mask) != 0) {
      add_utf8(low, low | mask, choices);
      add_utf8((low | mask) + 1, high, choices);
      return;
    }
    if ((high & mask) != mask) {
      add_utf8(low, (high & ~mask) - 1, choices);
      add_utf8(high & ~mask, high, choices);
      return;
    }
  }
  std::array<uint8_t, 4> from{}, to{};
  const size_t size = encode(low, from);
  encode(high, to);
  std::vector<PatternPtr> bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(byte_range(from[i], to[i]));
  choices.push_back(sequence(std::move(bytes)));
}

}  // namespace

PatternPtr byte_range(uint8_t low, uint8_t high) {
  Pattern pattern;
  pattern.kind = Pattern::Kind::kByte;
  pattern.low = low;
  pattern.high = high;
  return make(std::move(pattern));
}

PatternPtr sequence(std::vector<PatternPtr> parts) {
  if (parts.size() == 1) return parts[0];
  Pattern pattern;
  pattern.parts = std::move(parts);
  return make(std::move(pattern));
}

PatternPtr choice(std::vector<PatternPtr> parts) {
  if (parts.size() == 1) return parts[0];
  Pattern pattern;
  pattern.kind = Pattern::Kind::kChoice;
  pattern.parts = std::move(parts);
  return make(std::move(pattern));
}

PatternPtr repeat(PatternPtr part, int64_t min, std::optional<int64_t> max) {
  Pattern pattern;
  pattern.kind = Pattern::Kind::kRepeat;
  pattern.parts = {std::move(part)};
  pattern.min = min;
  pattern.max = max;
  return make(std::move(pattern));
}

PatternPtr literal(std::string_view bytes) {
  std::vector<PatternPtr> parts;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    parts.push_back(byte_range(byte, byte));
  }
  return sequence(std::move(parts));
}

void CharacterSet::add(char32_t low, char32_t high) {
  high = std::min(high, kLast);
  if (low <= kSurrogateHigh && high >= kSurrogateLow) {
    if (low < kSurrogateLow) add(low, kSurrogateLow - 1);
    if (high > kSurrogateHigh) add(kSurrogateHigh + 1, high);
    return;
  }
  if (low > high) return;
  ranges_.emplace_back(low, high);
  std::sort(ranges_.begin(), ranges_.end());
  std::vector<std::pair<char32_t, char32_t>> merged;
  for (const auto& range : ranges_) {
    if (!merged.empty() && range.first <= merged.back().second + 1) {
      merged.back().second = std::max(merged.back().second, range.second);
    } else {
      merged.push_back(range);
    }
  }
  ranges_ = std::move(merged);
}

void CharacterSet::add(const CharacterSet& other) {
  for (const auto& [low, high] : other.ranges_) add(low, high);
}

CharacterSet CharacterSet::inverted() const {
  CharacterSet result;
  char32_t next = 0;
  for (const auto& [low, high] : ranges_) {
    if (low > next) result.add(next, low - 1);
    next = high + 1;
  }
  if (next <= kLast) result.add(next, kLast);
  return result;
}

CharacterSet CharacterSet::without(char32_t low, char32_t high) const {
  CharacterSet rest = inverted();
  rest.add(low, high);
  return rest.inverted();
}

bool CharacterSet::has(char32_t c) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [c](const auto& range) { return range.first <= c && c <= range.second; });
}

PatternPtr utf8(const CharacterSet& set) {
  std::vector<PatternPtr> choices;
  for (const auto& [low, high] : set.ranges()) add_utf8(low, high, choices);
  return choice(std::move(choices));
}

}  // namespace glassformer
