#include "text/jinja/lexer.h"

#include <array>
#include <cctype>

#include "base/check.h"
#include "text/utf8.h"

namespace glassformer::jinja {
namespace {

constexpr std::array<std::string_view, 29> kOperators = {
    "//", "**", "==", "!=", "<=", ">=", "(", ")", "[", "]", "{", "}", ",", ":", ".",
    "|",  "~",  "=",  "<",  ">",  "+",  "-", "*", "/", "%", ";", "!", "&", "^"};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// \r\n and \r as \n, and no new line at the very end.
std::string normal_lines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
    } else {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normal_lines(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const size_t tag = find_tag();
      data(tag);
      if (tag < source_.size()) read_tag();
    }
    add(Token::Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw FileError(fmt::format("chat template, line {}: {}", line_, what));
  }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void add(Token::Kind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), line_});
  }
  void advance(size_t count) {
    for (size_t i = 0; i < count; ++i) line_ += source_[at_ + i] == '\n';
    at_ += count;
  }

  size_t find_tag() const {
    for (size_t i = at_; i + 1 < source_.size(); ++i)
      if (source_[i] == '{' &&
          (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#'))
        return i;
    return source_.size();
  }

  // The text up to the tag, less what the tag strips from it.
  void data(size_t tag) {
    std::string_view text = std::string_view(source_).substr(at_, tag - at_);
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    if (tag < source_.size()) {
      if (sign == '-') {
        const size_t last = text.find_last_not_of(" \t\n\r\f\v");
        text = text.substr(0, last == text.npos ? 0 : last + 1);
      } else if (sign != '+' && source_[tag + 1] != '{') {
        // Spaces between the start of a line and a block go.
        const size_t line_start = text.find_last_of('\n') + 1;
        const bool starts_line = at_ == 0 || source_[at_ - 1] == '\n';
        if ((line_start > 0 || starts_line) &&
            text.find_first_not_of(" \t\r\f\v", line_start) == text.npos)
          text = text.substr(0, line_start);
      }
    }
    if (!text.empty()) add(Token::Kind::kData, std::string(text));
    advance(tag - at_);
  }

  // After the end of a tag: spaces for a minus, one new line for a block.
  void after_tag(bool minus, bool plus, bool block) {
    if (minus) {
      while (at_ < source_.size() && std::isspace(static_cast<unsigned char>(peek())) != 0)
        advance(1);
    } else if (block && !plus && peek() == '\n') {
      advance(1);
    }
  }

  void read_tag() {
    const char kind = peek(1);
    advance(2);
    if (peek() == '-' || peek() == '+') advance(1);
    if (kind == '#') {
      const size_t end = source_.find("#}", at_);
      if (end == source_.npos) fail("a comment without end");
      const char sign = end > at_ ? source_[end - 1] : '\0';
      advance(end + 2 - at_);
      after_tag(sign == '-', sign == '+', true);
      return;
    }
    const bool block = kind == '%';
    if (block && read_raw()) return;
    add(block ? Token::Kind::kBlockBegin : Token::Kind::kPrintBegin, "");
    const std::string_view end = block ? "%}" : "}}";
    int depth = 0;
    for (;;) {
      while (std::isspace(static_cast<unsigned char>(peek())) != 0) advance(1);
      if (at_ >= source_.size()) fail("a tag without end");
      const bool signed_end =
          (peek() == '-' || peek() == '+') && std::string_view(source_).substr(at_ + 1, 2) == end;
      if (depth == 0 && (signed_end || std::string_view(source_).substr(at_, 2) == end)) {
        const char sign = signed_end ? peek() : '\0';
        advance(signed_end ? 3 : 2);
        add(block ? Token::Kind::kBlockEnd : Token::Kind::kPrintEnd, "");
        after_tag(sign == '-', sign == '+', block);
        return;
      }
      read_token(depth);
    }
  }

  // {% raw %} ... {% endraw %}: text as it is.
  bool read_raw() {
    const std::string_view rest = std::string_view(source_).substr(at_);
    const size_t word = rest.find_first_not_of(" \t\n");
    if (word == rest.npos || rest.substr(word, 3) != "raw") return false;
    const size_t close = rest.find("%}");
    if (close == rest.npos ||
        rest.substr(word + 3, close - word - 3).find_first_not_of(" -+") != rest.npos)
      return false;
    const size_t end = rest.find("{% endraw %}", close);
    if (end == rest.npos) fail("raw without {% endraw %}");
    add(Token::Kind::kData, std::string(rest.substr(close + 2, end - close - 2)));
    advance(end + std::string_view("{% endraw %}").size());
    after_tag(false, false, true);
    return true;
  }

  void read_token(int& depth) {
    const char c = peek();
    if (c == '"' || c == '\'') return read_text(c);
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return read_number();
    if (is_name(c) || static_cast<unsigned char>(c) >= 0x80) {
      size_t size = 0;
      while (is_name(peek(size)) || static_cast<unsigned char>(peek(size)) >= 0x80) ++size;
      add(Token::Kind::kName, source_.substr(at_, size));
      advance(size);
      return;
    }
    for (const std::string_view op : kOperators) {
      if (std::string_view(source_).substr(at_, op.size()) != op) continue;
      if (op == "(" || op == "[" || op == "{") ++depth;
      if (op == ")" || op == "]" || op == "}") depth = std::max(0, depth - 1);
      add(Token::Kind::kOperator, std::string(op));
      advance(op.size());
      return;
    }
    fail(fmt::format("unexpected character '{}'", c));
  }

  void read_number() {
    size_t size = 0;
    const auto digits = [&] {
      while (std::isdigit(static_cast<unsigned char>(peek(size))) != 0 || peek(size) == '_') ++size;
    };
    digits();
    bool real = false;
    if (peek(size) == '.' && std::isdigit(static_cast<unsigned char>(peek(size + 1))) != 0) {
      real = true;
      ++size;
      digits();
    }
    if ((peek(size) == 'e' || peek(size) == 'E') &&
        (std::isdigit(static_cast<unsigned char>(peek(size + 1))) != 0 ||
         ((peek(size + 1) == '-' || peek(size + 1) == '+') &&
          std::isdigit(static_cast<unsigned char>(peek(size + 2))) != 0))) {
      real = true;
      size += 2;
      digits();
    }
    std::string text = source_.substr(at_, size);
    std::erase(text, '_');
    if (text.size() > 40) fail("a number that is too long");
    add(real ? Token::Kind::kReal : Token::Kind::kInteger, text);
    advance(size);
  }

  void read_text(char quote) {
    std::string text;
    size_t at = at_ + 1;
    for (; at < source_.size() && source_[at] != quote; ++at) {
      if (source_[at] != '\\') {
        text += source_[at];
        continue;
      }
      if (++at >= source_.size()) break;
      switch (source_[at]) {
        case 'n': text += '\n'; break;
        case 't': text += '\t'; break;
        case 'r': text += '\r'; break;
        case 'b': text += '\b'; break;
        case 'f': text += '\f'; break;
        case 'x': at = code(text, at, 2); break;
        case 'u': at = code(text, at, 4); break;
        case 'U': at = code(text, at, 8); break;
        case '\n': break;
        case '\\':
        case '\'':
        case '"': text += source_[at]; break;
        default: (text += '\\') += source_[at];
      }
    }
    if (at >= source_.size()) fail("a string without end");
    add(Token::Kind::kText, std::move(text));
    advance(at + 1 - at_);
  }

  // \x41, \u0041, \U00000041; returns where its last digit is.
  size_t code(std::string& text, size_t at, size_t digits) const {
    uint32_t value = 0;
    for (size_t i = 1; i <= digits; ++i) {
      const char c = at + i < source_.size() ? source_[at + i] : '\0';
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) fail("a broken escape in a string");
      value = value * 16 + static_cast<uint32_t>(std::stoi(std::string(1, c), nullptr, 16));
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) fail("no such character");
    append_utf8(text, value);
    return at + digits;
  }

  std::string source_;
  size_t at_ = 0;
  size_t line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace glassformer::jinja
