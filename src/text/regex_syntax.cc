#include "text/regex_syntax.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/check.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

// Categories of a one-letter or two-letter name, as a range of the enumeration.
struct CategoryName {
  std::string_view name;
  Category first, last;
};
constexpr std::array kCategories = {
    CategoryName{"l", Category::Lu, Category::Lo},  CategoryName{"m", Category::Mn, Category::Me},
    CategoryName{"n", Category::Nd, Category::No},  CategoryName{"p", Category::Pc, Category::Po},
    CategoryName{"s", Category::Sm, Category::So},  CategoryName{"z", Category::Zs, Category::Zp},
    CategoryName{"lu", Category::Lu, Category::Lu}, CategoryName{"ll", Category::Ll, Category::Ll},
    CategoryName{"lt", Category::Lt, Category::Lt}, CategoryName{"lm", Category::Lm, Category::Lm},
    CategoryName{"lo", Category::Lo, Category::Lo}, CategoryName{"mn", Category::Mn, Category::Mn},
    CategoryName{"mc", Category::Mc, Category::Mc}, CategoryName{"me", Category::Me, Category::Me},
    CategoryName{"nd", Category::Nd, Category::Nd}, CategoryName{"nl", Category::Nl, Category::Nl},
    CategoryName{"no", Category::No, Category::No}, CategoryName{"pc", Category::Pc, Category::Pc},
    CategoryName{"pd", Category::Pd, Category::Pd}, CategoryName{"ps", Category::Ps, Category::Ps},
    CategoryName{"pe", Category::Pe, Category::Pe}, CategoryName{"pi", Category::Pi, Category::Pi},
    CategoryName{"pf", Category::Pf, Category::Pf}, CategoryName{"po", Category::Po, Category::Po},
    CategoryName{"sm", Category::Sm, Category::Sm}, CategoryName{"sc", Category::Sc, Category::Sc},
    CategoryName{"sk", Category::Sk, Category::Sk}, CategoryName{"so", Category::So, Category::So},
    CategoryName{"zs", Category::Zs, Category::Zs}, CategoryName{"zl", Category::Zl, Category::Zl},
    CategoryName{"zp", Category::Zp, Category::Zp}, CategoryName{"cc", Category::Cc, Category::Cc},
    CategoryName{"cf", Category::Cf, Category::Cf}, CategoryName{"co", Category::Co, Category::Co},
};
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kLongNames = {{
    {"letter", "l"},
    {"mark", "m"},
    {"number", "n"},
    {"punctuation", "p"},
    {"symbol", "s"},
    {"separator", "z"},
}};
constexpr std::array<std::string_view, 14> kScripts = {
    "Han",    "Hiragana", "Katakana",   "Hangul", "Latin",  "Greek",   "Cyrillic",
    "Arabic", "Hebrew",   "Devanagari", "Thai",   "Common", "Bengali", "Tamil",
};

// The characters for which holds(c), as ranges of a class.
template <class Holds>
std::string ranges(Holds&& holds) {
  std::string text;
  for (char32_t c = 0; c < 0x110000;) {
    if ((c >= 0xD800 && c < 0xE000) || !holds(c)) {
      ++c;
      continue;
    }
    char32_t last = c;
    while (last + 1 < 0x110000 && last + 1 != 0xD800 && holds(last + 1)) ++last;
    text += last == c ? fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(c))
                      : fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", static_cast<uint32_t>(c),
                                    static_cast<uint32_t>(last));
    c = last + 1;
  }
  return text;
}

// What \s and its like are inside a class. PCRE2's own property stands first, because it is tested
// fast; what it is too old to know follows.
std::string category_members(Category first, Category last, std::string_view property) {
  return fmt::format("\\p{{{}}}", property) + ranges([&](char32_t c) {
           return has_flag(c, kNewer) && category(c) >= first && category(c) <= last;
         });
}
std::string space_members(bool negated) {
  return ranges([=](char32_t c) { return is_space(c) != negated; });
}
std::string word_members(bool negated) {
  return ranges([=](char32_t c) { return has_flag(c, kRegexWord) != negated; });
}

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& where)
      : pattern_(pattern), where_(where) {}

  std::string run() {
    out_ = "(*LF)";
    while (at_ < pattern_.size()) item();
    return out_;
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw FileError(
        fmt::format("{}: regular expression '{}': {} is not supported", where_, pattern_, what));
  }
  bool more() const { return at_ < pattern_.size(); }
  char peek() const { return more() ? pattern_[at_] : '\0'; }
  bool take(std::string_view text) {
    if (pattern_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }

  void item() {
    const size_t begin = out_.size();
    switch (peek()) {
      case '\\': escape(); break;
      case '[': out_ += char_class(); break;
      case '(':
        starts_.push_back(begin);
        group();
        return;
      case ')':
        out_ += ')';
        ++at_;
        if (!starts_.empty()) {
          atom_ = starts_.back();
          starts_.pop_back();
        }
        return;
      case '{':
        if (interval()) return;
        [[fallthrough]];
      default: {
        const size_t size = character_size(pattern_[at_]);
        out_ += pattern_.substr(at_, size);
        at_ += size;
      }
    }
    const char last = pattern_[at_ - 1];
    if (out_.size() != begin + 1 || (last != '*' && last != '+' && last != '?')) atom_ = begin;
  }

  // {n,m}. Ruby reads a + after it as one more repetition, PCRE2 as "possessive".
  bool interval() {
    size_t end = at_ + 1;
    while (end < pattern_.size() &&
           (std::isdigit(static_cast<unsigned char>(pattern_[end])) != 0 || pattern_[end] == ','))
      ++end;
    if (end == at_ + 1 || end >= pattern_.size() || pattern_[end] != '}') return false;
    std::string body(pattern_.substr(at_ + 1, end - at_ - 1));
    if (body == ",") return false;
    out_ += fmt::format("{{{}{}}}", body.front() == ',' ? "0" : "", body);
    at_ = end + 1;
    if (peek() == '+') {
      out_.insert(atom_, "(?:");
      out_ += ')';
    }
    return true;
  }

  void group() {
    ++at_;
    out_ += '(';
    if (!take("?")) return;
    for (const std::string_view kind : {":", "=", "!", "<=", "<!", ">", "#"})
      if (take(kind)) {
        (out_ += '?') += kind;
        return;
      }
    if (take("<")) {
      out_ += "?<";
      return;
    }
    out_ += '?';
    while (more() && peek() != ')' && peek() != ':') {
      const char flag = pattern_[at_++];
      if (flag == 'm') {
        out_ += 's';  // Ruby's m lets the dot match a new line
      } else if (flag == 'i' || flag == 'x' || flag == '-') {
        out_ += flag;
      } else {
        refuse(fmt::format("the group (?{}", flag));
      }
    }
    if (peek() == ':') out_ += pattern_[at_++];
  }

  // After a backslash, outside a class.
  void escape() {
    const char kind = pattern_.size() > at_ + 1 ? pattern_[at_ + 1] : '\0';
    switch (kind) {
      case 'S':
      case 'W':
      case 'D':
      case 'H':
        out_ += fmt::format("[^{}]", shorthand(static_cast<char>(std::tolower(kind))));
        break;
      case 's':
      case 'w':
      case 'd':
      case 'h': out_ += fmt::format("[{}]", shorthand(kind)); break;
      case 'b':
      case 'B': {
        const std::string word = fmt::format("[{}]", word_members(false));
        out_ += kind == 'b' ? fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word)
                            : fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word);
        break;
      }
      case 'p':
      case 'P': {
        bool negated = false;
        const std::string members = property(negated);
        out_ += fmt::format("[{}{}]", negated ? "^" : "", members);
        return;
      }
      case 'A':
      case 'z':
      case 'Z':
      case 'R':
      case 'X': (out_ += '\\') += kind; break;
      default:
        if (kind >= '1' && kind <= '9') {
          (out_ += '\\') += kind;
          break;
        }
        out_ += literal_escape();
        return;
    }
    at_ += 2;
  }

  static std::string shorthand(char kind) {
    switch (kind) {
      case 's': return space_members(false);
      case 'w': return word_members(false);
      case 'd': return category_members(Category::Nd, Category::Nd, "Nd");
      default: return "0-9a-fA-F";
    }
  }

  // \n, \x41, \u0041, \- ...: one character.
  std::string literal_escape() {
    const char kind = pattern_.size() > at_ + 1 ? pattern_[at_ + 1] : '\0';
    at_ += 2;
    switch (kind) {
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'a':
      case 'e': return std::string("\\") + kind;
      case 'v': return "\\x0b";
      case '0': return "\\x00";
      case 'x':
      case 'u': return hexadecimal(kind);
      case '\0': refuse("a backslash at the end");
      default: break;
    }
    if (std::isalnum(static_cast<unsigned char>(kind)) != 0)
      refuse(fmt::format("the escape \\{}", kind));
    --at_;
    const size_t size = character_size(kind);
    const std::string text(pattern_.substr(at_, size));
    at_ += size;
    return size == 1 ? fmt::format("\\{}", text) : text;
  }

  std::string hexadecimal(char kind) {
    size_t end = at_;
    const bool braces = peek() == '{';
    if (braces) ++end;
    const size_t begin = end;
    const size_t most = braces ? 6 : kind == 'x' ? 2 : 4;
    while (end < pattern_.size() && end - begin < most &&
           std::isxdigit(static_cast<unsigned char>(pattern_[end])) != 0)
      ++end;
    const std::string digits(pattern_.substr(begin, end - begin));
    if (digits.empty() || (braces && (end >= pattern_.size() || pattern_[end] != '}')))
      refuse(fmt::format("the escape \\{}", kind));
    at_ = braces ? end + 1 : end;
    if (kind == 'x' && !braces && digits.size() == 2 && digits[0] >= '8')
      refuse("the escape of a byte past \\x7F");
    return fmt::format("\\x{{{}}}", digits);
  }

  // \p{Name}, \P{Name} or \p{^Name}: its members for a class, and whether it is their complement.
  std::string property(bool& negated) {
    negated = pattern_[at_ + 1] == 'P';
    at_ += 2;
    const size_t end = pattern_.find('}', at_);
    if (peek() != '{' || end == std::string_view::npos) refuse("\\p without {name}");
    std::string_view name = pattern_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    if (!name.empty() && name.front() == '^') {
      negated = !negated;
      name.remove_prefix(1);
    }
    std::string key;
    for (const char c : name)
      if (c != ' ' && c != '_' && c != '-')
        key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const auto& [longer, shorter] : kLongNames)
      if (key == longer) key = shorter;
    if (key == "space" || key == "whitespace") return space_members(false);
    if (key == "word") return word_members(false);
    if (key == "digit") key = "nd";
    for (const CategoryName& one : kCategories)
      if (one.name == key) {
        key[0] = static_cast<char>(std::toupper(key[0]));
        return category_members(one.first, one.last, key);
      }
    for (const std::string_view script : kScripts)
      if (std::equal(script.begin(), script.end(), key.begin(), key.end(),
                     [](char a, char b) { return std::tolower(a) == b; }))
        return fmt::format("\\p{{sc:{}}}{}", script,
                           script == "Han" ? "\\x{2EBF0}-\\x{2EE5D}\\x{31350}-\\x{323AF}" : "");
    refuse(fmt::format("\\p{{{}}}", name));
  }

  // A [class], written flat: Ruby's nested classes are unions.
  std::string char_class() {
    std::string members;
    ++at_;
    const bool negated = take("^");
    class_members(members, 0);
    if (members.empty()) refuse("an empty class");
    return fmt::format("[{}{}]", negated ? "^" : "", members);
  }

  void class_members(std::string& members, int depth) {
    if (depth > 20) refuse("a class nested deeper than 20 levels");
    for (bool first = true;; first = false) {
      if (!more()) refuse("a class without end");
      if (take("&&")) refuse("an intersection (&&) in a class");
      if (pattern_.substr(at_, 2) == "[:") refuse("a POSIX class ([:name:])");
      const char c = peek();
      if (c == ']' && !first) {
        ++at_;
        return;
      }
      if (c == '[') {
        ++at_;
        if (take("^")) refuse("a negated class inside a class");
        class_members(members, depth + 1);
      } else if (c == '\\') {
        class_escape(members);
      } else {
        const size_t size = character_size(c);
        if (c == ']') members += '\\';
        members += pattern_.substr(at_, size);
        at_ += size;
      }
    }
  }

  void class_escape(std::string& members) {
    const char kind = pattern_.size() > at_ + 1 ? pattern_[at_ + 1] : '\0';
    switch (kind) {
      case 's':
      case 'w':
      case 'd':
      case 'h':
        members += shorthand(kind);
        at_ += 2;
        return;
      case 'S':
      case 'W':
        members += kind == 'S' ? space_members(true) : word_members(true);
        at_ += 2;
        return;
      case 'p':
      case 'P': {
        bool negated = false;
        const std::string inside = property(negated);
        if (negated && inside.find("\\p{") != 0) refuse("a complement inside a class");
        if (negated) {
          // What is too new for PCRE2 is unassigned to it, and so in every complement.
          members += fmt::format("\\P{}", inside.substr(2, inside.find('}') - 1));
        } else {
          members += inside;
        }
        return;
      }
      case 'b':
        members += "\\x08";
        at_ += 2;
        return;
      default: members += literal_escape();
    }
  }

  std::string_view pattern_;
  const std::string& where_;
  size_t at_ = 0;
  std::string out_;
  std::vector<size_t> starts_;  // where the open groups begin in out_
  size_t atom_ = 0;             // where what a quantifier repeats begins in out_
};

}  // namespace

std::string translate_regex(std::string_view pattern, const std::string& where) {
  return Translator(pattern, where).run();
}

}  // namespace glassformer
