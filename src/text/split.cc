#include "text/split.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace glassformer {

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

constexpr std::string_view kGpt2Groups =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
enum class Kind : uint8_t { kLetter, kNumber, kSpace, kOther, kEnd };

Kind kind_of(char32_t c) {
  if (is_letter(c)) return Kind::kLetter;
  if (is_number(c)) return Kind::kNumber;
  return is_space(c) ? Kind::kSpace : Kind::kOther;
}

constexpr auto kAscii = [] {
  std::array<Kind, 128> kinds{};
  for (unsigned c = 0; c < 128; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    kinds[c] = letter                 ? Kind::kLetter
               : c >= '0' && c <= '9' ? Kind::kNumber
               : space                ? Kind::kSpace
                                      : Kind::kOther;
  }
  return kinds;
}();

// Reads a text from the front: what stands at `at`, and runs of a kind.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  size_t size() const { return text_.size(); }
  char byte(size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
  // The kind of the character at `at`; `next` is where the one after it begins.
  Kind kind(size_t at, size_t& next) const {
    if (at >= text_.size()) return Kind::kEnd;
    const auto lead = static_cast<unsigned char>(text_[at]);
    if (lead < 128) {
      next = at + 1;
      return kAscii[lead];
    }
    next = at;
    return kind_of(next_character(text_, next));
  }
  // The end of the longest run of at most `most` characters of `wanted` from `at`.
  size_t run(size_t at, Kind wanted, size_t most = SIZE_MAX) const {
    for (size_t next = at; most > 0 && kind(at, next) == wanted; --most) at = next;
    return at;
  }
  // The end of the English ending ('s, 't, 're, 've, 'm, 'll, 'd) at `at`, or `at`.
  size_t ending(size_t at, bool any_case) const {
    if (byte(at) != '\'') return at;
    const auto letter = [&](size_t i) {
      const char c = byte(i);
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    };
    const char first = letter(at + 1);
    const char second = letter(at + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
    if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
    if (first == 'l' && second == 'l') return at + 3;
    // The long s is an s in another case.
    if (any_case && text_.substr(at + 1, 2) == "\xC5\xBF") return at + 3;
    return at;
  }
  // \s+(?!\S)|\s+ : a run of spaces leaves its last one to the word that follows.
  size_t spaces(size_t at) const {
    size_t next = at;
    size_t last = at;
    size_t end = at;
    while (kind(end, next) == Kind::kSpace) {
      last = end;
      end = next;
    }
    return end == text_.size() || last == at ? end : last;
  }

 private:
  std::string_view text_;
};

void scan_gpt2(std::string_view text, std::vector<Span>& matches) {
  const Scanner scan(text);
  for (size_t at = 0; at < text.size();) {
    size_t end = scan.ending(at, false);
    if (end == at) {
      // One space may lead any run but a run of spaces.
      const size_t begin = text[at] == ' ' ? at + 1 : at;
      size_t next = begin;
      const Kind kind = scan.kind(begin, next);
      end = kind == Kind::kSpace || kind == Kind::kEnd ? scan.spaces(at) : scan.run(next, kind);
    }
    matches.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
    at = end;
  }
}

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

// The pattern of Llama 3 and, with single digits, that of Qwen 2: the match at `at`.
size_t match_llama3(const Scanner& scan, size_t at, size_t digits) {
  if (const size_t end = scan.ending(at, true); end != at) return end;
  size_t next = at;
  const Kind kind = scan.kind(at, next);
  if (kind == Kind::kLetter) return scan.run(next, Kind::kLetter);
  if (kind == Kind::kNumber) return scan.run(at, Kind::kNumber, digits);
  // Any one character but a line's end may lead letters.
  size_t after = next;
  const bool line_end = is_line_end(scan.byte(at));
  const Kind following = scan.kind(next, after);
  if (!line_end && following == Kind::kLetter) return scan.run(after, Kind::kLetter);
  if (kind == Kind::kOther || (scan.byte(at) == ' ' && following == Kind::kOther)) {
    size_t end = scan.run(next, Kind::kOther);
    while (is_line_end(scan.byte(end))) ++end;
    return end;
  }
  // Spaces, up to the last end of a line among them where there is one.
  size_t lines = 0;
  for (size_t i = at, step = at; scan.kind(i, step) == Kind::kSpace; i = step)
    if (is_line_end(scan.byte(i))) lines = step;
  return lines != 0 ? lines : scan.spaces(at);
}

template <size_t kDigits>
void scan_llama3(std::string_view text, std::vector<Span>& matches) {
  const Scanner scan(text);
  for (size_t at = 0; at < text.size();) {
    const size_t end = match_llama3(scan, at, kDigits);
    matches.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
    at = end;
  }
}

}  // namespace

SplitBehavior split_behavior(const JsonFields& fields, std::string_view name) {
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {{
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  }};
  const std::string text = fields.text(name, "Isolated");
  for (const auto& [known, behavior] : kNames)
    if (known == text) return behavior;
  fields.fail(name, "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

void apply_behavior(std::vector<Section>& sections, SplitBehavior behavior) {
  std::vector<Section> kept;
  bool previous = false;
  switch (behavior) {
    case SplitBehavior::kIsolated: return;
    case SplitBehavior::kRemoved:
      std::erase_if(sections, [](const Section& s) { return s.match; });
      return;
    case SplitBehavior::kContiguous:
    case SplitBehavior::kMergedWithPrevious: {
      const bool contiguous = behavior == SplitBehavior::kContiguous;
      for (const Section& s : sections) {
        if (!kept.empty() && (contiguous ? s.match == previous : s.match && !previous)) {
          kept.back().end = s.end;
        } else {
          kept.push_back(s);
        }
        previous = s.match;
      }
      break;
    }
    case SplitBehavior::kMergedWithNext:
      for (auto s = sections.rbegin(); s != sections.rend(); ++s) {
        if (!kept.empty() && s->match && !previous) {
          kept.back().begin = s->begin;
        } else {
          kept.push_back(*s);
        }
        previous = s->match;
      }
      std::reverse(kept.begin(), kept.end());
      break;
  }
  sections = std::move(kept);
}

PatternFinder::Scan PatternFinder::known(std::string_view pattern) {
  if (pattern == kGpt2Pattern || pattern == kGpt2Groups) return scan_gpt2;
  if (pattern == kLlama3Pattern) return scan_llama3<3>;
  if (pattern == kQwen2Pattern) return scan_llama3<1>;
  return nullptr;
}

PatternFinder::PatternFinder() : scan_(scan_gpt2) {}

PatternFinder::PatternFinder(const JsonFields& fields, std::string_view name) {
  const Json& pattern = fields.at(name);
  if (pattern.is_string()) {
    regex_.push_back(Regex::literal(pattern.get<std::string>(), fields.where()));
    return;
  }
  const JsonFields kind = fields.object(name);
  if (kind.has("String")) {
    regex_.push_back(Regex::literal(kind.text("String"), kind.where()));
    return;
  }
  const std::string text = kind.text("Regex");
  scan_ = known(text);
  if (scan_ == nullptr) regex_.emplace_back(text, kind.where());
}

void PatternFinder::find(std::string_view text, std::vector<Span>& matches) const {
  if (scan_ != nullptr) {
    scan_(text, matches);
  } else {
    regex_.front().find(text, matches);
  }
}

}  // namespace glassformer
