#include "training/metrics/python_text.h"

#include <algorithm>

#include "base/check.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

bool is_cased(char32_t c) {
  const Category kind = category(c);
  return kind == Category::Lu || kind == Category::Ll || kind == Category::Lt;
}

// Unicode's Case_Ignorable: what stands within words.
bool is_case_ignorable(char32_t c) {
  constexpr std::u32string_view kMarks =
      U"'.:^`\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
  if (kMarks.find(c) != std::u32string_view::npos) return true;
  const Category kind = category(c);
  return kind == Category::Mn || kind == Category::Me || kind == Category::Cf ||
         kind == Category::Lm || kind == Category::Sk;
}

// A sigma at `at` ends a word: a letter stands before it, none after.
bool ends_word(std::u32string_view text, size_t at) {
  size_t before = at;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  if (before == 0 || !is_cased(text[before - 1])) return false;
  size_t after = at + 1;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return after == text.size() || !is_cased(text[after]);
}

}  // namespace

bool is_python_space(char32_t c) { return is_space(c) || (c >= 0x1C && c <= 0x1F); }

std::vector<std::u32string> split(std::u32string_view text) {
  std::vector<std::u32string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    while (at < text.size() && !is_python_space(text[at])) ++at;
    if (at > begin) words.emplace_back(text.substr(begin, at - begin));
    while (at < text.size() && is_python_space(text[at])) ++at;
  }
  return words;
}

std::u32string_view rstrip(std::u32string_view text) {
  while (!text.empty() && is_python_space(text.back())) text.remove_suffix(1);
  return text;
}

std::u32string lower(std::u32string_view text) {
  constexpr char32_t kSigma = 0x3A3, kFinalSigma = 0x3C2, kDottedI = 0x130;
  std::u32string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kDottedI)
      result += U"i\u0307";
    else if (text[i] == kSigma && ends_word(text, i))
      result += kFinalSigma;
    else
      result += to_lower(text[i]);
  }
  return result;
}

std::u32string decode(std::string_view text) { return to_utf32(replace_invalid_utf8(text)); }

void check_corpus(const char* score, std::span<const std::string> hypotheses,
                  References references) {
  require<ValueError>(!hypotheses.empty() && !references.empty(),
                      "{}: expected sentences and references, found {} and {}", score,
                      hypotheses.size(), references.size());
  for (const auto& reference : references)
    require<ValueError>(reference.size() == hypotheses.size(),
                        "{}: expected a reference for each of {} sentences, found {}", score,
                        hypotheses.size(), reference.size());
}

}  // namespace glassformer
