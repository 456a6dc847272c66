#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace glassformer {

// A regular language over bytes, as a tree. Trees share their branches.
struct Pattern {
  enum class Kind : uint8_t { kByte, kSequence, kChoice, kRepeat };
  Kind kind = Kind::kSequence;
  uint8_t low = 0, high = 0;                          // kByte: one byte of this range
  std::vector<std::shared_ptr<const Pattern>> parts;  // kRepeat: one
  int64_t min = 0;                                    // kRepeat
  std::optional<int64_t> max;                         // kRepeat; none: no limit
};
using PatternPtr = std::shared_ptr<const Pattern>;

PatternPtr byte_range(uint8_t low, uint8_t high);
PatternPtr sequence(std::vector<PatternPtr> parts);
PatternPtr choice(std::vector<PatternPtr> parts);
PatternPtr repeat(PatternPtr part, int64_t min, std::optional<int64_t> max);
inline PatternPtr optional(PatternPtr part) { return repeat(std::move(part), 0, 1); }
PatternPtr literal(std::string_view bytes);

// Ranges of code points, sorted and apart, without surrogates.
class CharacterSet {
 public:
  void add(char32_t low, char32_t high);
  void add(const CharacterSet& other);
  CharacterSet inverted() const;
  CharacterSet without(char32_t low, char32_t high) const;
  bool has(char32_t c) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<std::pair<char32_t, char32_t>>& ranges() const { return ranges_; }

 private:
  std::vector<std::pair<char32_t, char32_t>> ranges_;
};

// One character of the set, in UTF-8.
PatternPtr utf8(const CharacterSet& set);

}  // namespace glassformer
