#include "decoding/regex_pattern.h"

#include <algorithm>

#include "base/check.h"

namespace glassformer {
namespace {

constexpr int kDeepest = 100;
constexpr int64_t kMostRepeats = 100000;

// The characters of UTF-8 text. Throws ValueError where it is none.
std::u32string characters_of(std::string_view text) {
  std::u32string result;
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<uint8_t>(text[at]);
    const size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    require<ValueError>((lead < 0x80 || lead >= 0xC2) && lead < 0xF5 && at + size <= text.size(),
                        "regex: not UTF-8 at byte {}", at);
    char32_t c = size == 1 ? lead : lead & (0x7F >> size);
    for (size_t i = 1; i < size; ++i) {
      const auto byte = static_cast<uint8_t>(text[at + i]);
      require<ValueError>((byte & 0xC0) == 0x80, "regex: not UTF-8 at byte {}", at + i);
      c = c << 6 | (byte & 0x3F);
    }
    result.push_back(c);
    at += size;
  }
  return result;
}

CharacterSet set_of(std::initializer_list<std::pair<char32_t, char32_t>> ranges) {
  CharacterSet set;
  for (const auto& [low, high] : ranges) set.add(low, high);
  return set;
}

// The class behind \d and its like; nothing where the letter is none.
std::optional<CharacterSet> named_class(char32_t letter) {
  switch (letter) {
    case 'd': return set_of({{'0', '9'}});
    case 'w': return set_of({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
    case 's': return set_of({{'\t', '\r'}, {' ', ' '}});
    case 'D':
    case 'W':
    case 'S': return named_class(letter + ('a' - 'A'))->inverted();
    default: return std::nullopt;
  }
}

class Parser {
 public:
  Parser(std::string_view regex, bool in_json_string)
      : text_(characters_of(regex)), in_json_string_(in_json_string) {}

  PatternPtr parse() {
    accept('^');
    PatternPtr pattern = alternatives(0);
    if (at_ < text_.size()) fail("')' without '('");
    return pattern;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw ValueError(fmt::format("regex: {} at character {}", what, at_));
  }
  bool at_end() const { return at_ == text_.size(); }
  char32_t peek() const { return at_end() ? 0 : text_[at_]; }
  bool accept(char32_t c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  PatternPtr characters(const CharacterSet& set) const {
    if (set.empty()) fail("a class without characters");
    return in_json_string_ ? json_characters(set) : utf8(set);
  }

  PatternPtr alternatives(int depth) {
    if (depth > kDeepest) fail(fmt::format("groups nest deeper than {}", kDeepest));
    std::vector<PatternPtr> choices;
    do {
      choices.push_back(terms(depth));
    } while (accept('|'));
    return choice(std::move(choices));
  }

  PatternPtr terms(int depth) {
    std::vector<PatternPtr> parts;
    while (!at_end() && peek() != '|' && peek() != ')') {
      if (peek() == '$' && at_ + 1 == text_.size()) {
        ++at_;
        break;
      }
      parts.push_back(repeated(atom(depth)));
    }
    return sequence(std::move(parts));
  }

  PatternPtr atom(int depth) {
    const char32_t c = text_[at_];
    switch (c) {
      case '(': return group(depth);
      case '[': return characters(char_class());
      case '.': ++at_; return characters(set_of({{'\n', '\n'}}).inverted());
      case '\\': return characters(escape());
      case '^':
      case '$': fail("an anchor inside the expression, which is matched as a whole,");
      case '*':
      case '+':
      case '?':
      case '{': fail("a repetition of nothing");
      default: ++at_; return characters(set_of({{c, c}}));
    }
  }

  PatternPtr group(int depth) {
    ++at_;
    if (accept('?')) {
      const bool named = accept('P') ? peek() == '<'
                                     : peek() == '<' && at_ + 1 < text_.size() &&
                                           text_[at_ + 1] != '=' && text_[at_ + 1] != '!';
      if (named) {
        while (!at_end() && peek() != '>') ++at_;
        ++at_;
        if (at_ > text_.size()) fail("a group's name without an end");
      } else if (!accept(':')) {
        fail("look-around, a flag or another special group, which no automaton has,");
      }
    }
    PatternPtr pattern = alternatives(depth + 1);
    if (!accept(')')) fail("'(' without ')'");
    return pattern;
  }

  PatternPtr repeated(PatternPtr pattern) {
    int64_t min = 0;
    std::optional<int64_t> max;
    if (accept('+')) {
      min = 1;
    } else if (accept('?')) {
      max = 1;
    } else if (peek() == '{') {
      std::tie(min, max) = bounds();
    } else if (!accept('*')) {
      return pattern;
    }
    accept('?');  // lazy
    if (!at_end() && (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{'))
      fail("a repetition of a repetition (or a possessive one)");
    return repeat(std::move(pattern), min, max);
  }

  std::pair<int64_t, std::optional<int64_t>> bounds() {
    ++at_;
    const std::optional<int64_t> min = number();
    std::optional<int64_t> max = min;
    if (accept(',')) max = number();
    if (!accept('}') || (!min && !max)) fail("expected {n}, {n,}, {,m} or {n,m}");
    if (max && *max < min.value_or(0)) fail("a repetition whose maximum is below its minimum");
    return {min.value_or(0), max};
  }

  std::optional<int64_t> number() {
    if (at_end() || peek() < '0' || peek() > '9') return std::nullopt;
    int64_t value = 0;
    while (!at_end() && peek() >= '0' && peek() <= '9') {
      value = value * 10 + static_cast<int64_t>(text_[at_++] - '0');
      if (value > kMostRepeats) fail(fmt::format("a repetition of more than {}", kMostRepeats));
    }
    return value;
  }

  // After a backslash: a class, or one character.
  CharacterSet escape() {
    ++at_;
    if (at_end()) fail("'\\' at the end");
    const char32_t c = text_[at_++];
    if (auto set = named_class(c)) return *set;
    const auto single = [](char32_t x) { return set_of({{x, x}}); };
    switch (c) {
      case 'n': return single('\n');
      case 't': return single('\t');
      case 'r': return single('\r');
      case 'f': return single('\f');
      case 'v': return single('\v');
      case '0': return single(0);
      case 'x': return single(hexadecimal(2));
      case 'u': return single(hexadecimal(4));
      default: break;
    }
    const bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_word) {
      --at_;
      fail(fmt::format("'\\{}', which is not supported,", static_cast<char>(c)));
    }
    return single(c);
  }

  char32_t hexadecimal(size_t digits) {
    const bool braces = accept('{');
    char32_t value = 0;
    size_t count = 0;
    for (; !at_end() && (braces ? count < 6 : count < digits); ++count, ++at_) {
      const char32_t c = peek();
      const char32_t digit = c >= '0' && c <= '9'   ? c - '0'
                             : c >= 'a' && c <= 'f' ? c - 'a' + 10
                             : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                    : 16;
      if (digit == 16) break;
      value = value * 16 + digit;
    }
    const bool complete = braces ? count > 0 && accept('}') : count == digits;
    if (!complete || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
      fail("an escape that is no character");
    return value;
  }

  CharacterSet char_class() {
    ++at_;
    const bool inverted = accept('^');
    CharacterSet set;
    for (bool first = true; first || peek() != ']'; first = false) {
      if (at_end()) fail("'[' without ']'");
      if (peek() == '[' && at_ + 1 < text_.size() && text_[at_ + 1] == ':')
        fail("a POSIX class, which is not supported,");
      const CharacterSet low = class_member();
      const bool single =
          low.ranges().size() == 1 && low.ranges()[0].first == low.ranges()[0].second;
      const bool is_range = peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      if (!is_range) {
        set.add(low);
        continue;
      }
      ++at_;
      const CharacterSet high = class_member();
      const bool ends_single =
          high.ranges().size() == 1 && high.ranges()[0].first == high.ranges()[0].second;
      if (!single || !ends_single || high.ranges()[0].first < low.ranges()[0].first)
        fail("a range of characters that is none");
      set.add(low.ranges()[0].first, high.ranges()[0].first);
    }
    ++at_;
    return inverted ? set.inverted() : set;
  }

  CharacterSet class_member() {
    if (at_end()) fail("'[' without ']'");
    if (peek() == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == 'b') {
      at_ += 2;
      return set_of({{'\b', '\b'}});
    }
    if (peek() == '\\') return escape();
    const char32_t c = text_[at_++];
    return set_of({{c, c}});
  }

  std::u32string text_;
  size_t at_ = 0;
  bool in_json_string_;
};

}  // namespace

PatternPtr json_characters(const CharacterSet& set) {
  std::vector<PatternPtr> choices;
  const CharacterSet plain = set.without(0, 0x1F).without('"', '"').without('\\', '\\');
  if (!plain.empty()) choices.push_back(utf8(plain));
  constexpr std::pair<char32_t, const char*> kEscapes[] = {
      {'"', "\\\""}, {'\\', "\\\\"}, {'\b', "\\b"}, {'\f', "\\f"},
      {'\n', "\\n"}, {'\r', "\\r"},  {'\t', "\\t"}};
  for (const auto& [c, escape] : kEscapes)
    if (set.has(c)) choices.push_back(literal(escape));
  require<ValueError>(!choices.empty(), "regex: a class of control characters in a JSON string");
  return choice(std::move(choices));
}

PatternPtr parse_regex(std::string_view regex, bool in_json_string) {
  return Parser(regex, in_json_string).parse();
}

}  // namespace glassformer
