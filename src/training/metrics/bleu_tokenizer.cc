#include "training/metrics/bleu_tokenizer.h"

#include "base/check.h"
#include "text/unicode.h"
#include "training/metrics/python_text.h"

namespace glassformer {
namespace {

using Text = std::u32string;
using View = std::u32string_view;
using Class = bool (*)(char32_t);

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_no_digit(char32_t c) { return !is_digit(c); }
bool is_stop(char32_t c) { return c == '.' || c == ','; }
bool is_dash(char32_t c) { return c == '-'; }
// ASCII's, and the space, but for ' , - .
bool is_mark(char32_t c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}
bool is_no_number(char32_t c) {
  const Category kind = category(c);
  return kind < Category::Nd || kind > Category::No;
}
bool is_punctuation(char32_t c) {
  const Category kind = category(c);
  return kind >= Category::Pc && kind <= Category::Po;
}
bool is_symbol(char32_t c) {
  const Category kind = category(c);
  return kind >= Category::Sm && kind <= Category::So;
}

// Every `one` between spaces.
Text separate(View text, Class one) {
  Text result;
  for (const char32_t c : text) {
    if (one(c))
      result.append({U' ', c, U' '});
    else
      result += c;
  }
  return result;
}

// The regular expression (a)(b), each match from the left: a space between the two, and one before
// the first or after the second.
Text separate(View text, Class a, Class b, bool before) {
  Text result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !a(text[i]) || !b(text[i + 1])) {
      result += text[i];
      continue;
    }
    if (before) result += U' ';
    result.append({text[i], U' ', text[i + 1]});
    if (!before) result += U' ';
    ++i;
  }
  return result;
}

void replace_all(Text& text, View from, View to) {
  for (size_t at = 0; (at = text.find(from, at)) != Text::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// mteval-v13a's.
Text tokenize_13a(View line) {
  Text text(line);
  constexpr std::pair<View, View> kReplaced[] = {
      {U"<skipped>", U""}, {U"-\n", U""},   {U"\n", U" "},  {U"&quot;", U"\""},
      {U"&amp;", U"&"},    {U"&lt;", U"<"}, {U"&gt;", U">"}};
  for (const auto& [from, to] : kReplaced) replace_all(text, from, to);
  text = separate(U" " + text + U" ", is_mark);
  text = separate(text, is_no_digit, is_stop, false);
  text = separate(text, is_stop, is_no_digit, true);
  return separate(text, is_digit, is_dash, false);
}

// mteval-v14's, for any language.
Text tokenize_international(View line) {
  Text text = separate(line, is_no_number, is_punctuation, false);
  text = separate(text, is_punctuation, is_no_number, true);
  return separate(text, is_symbol);
}

}  // namespace

std::vector<Text> bleu_words(View line, BleuOptions::Tokenizer tokenizer) {
  switch (tokenizer) {
    case BleuOptions::Tokenizer::k13a: return split(tokenize_13a(line));
    case BleuOptions::Tokenizer::kIntl: return split(tokenize_international(line));
    case BleuOptions::Tokenizer::kChar: return split(separate(line, [](char32_t) { return true; }));
    case BleuOptions::Tokenizer::kNone: return split(line);
  }
  throw ValueError("bleu: no such tokenizer");
}

}  // namespace glassformer
