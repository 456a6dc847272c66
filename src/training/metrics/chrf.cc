#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "glassformer/training/metrics.h"
#include "training/metrics/ngrams.h"
#include "training/metrics/python_text.h"

namespace glassformer {
namespace {

// Of one order: n-grams of the hypothesis, of the reference, and of both.
struct Match {
  int64_t hypothesis = 0, reference = 0, both = 0;
};

bool is_ascii_punctuation(char32_t c) {
  return c > ' ' && c < 0x7F && !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') &&
         !(c >= 'a' && c <= 'z');
}

// A mark that ends a word is one of its own, or else the mark that begins it.
std::vector<std::u32string> words_and_marks(const std::u32string& text) {
  std::vector<std::u32string> words;
  for (const std::u32string& word : split(text)) {
    const size_t last = word.size() - 1;
    size_t cut = 0;
    if (last > 0 && is_ascii_punctuation(word[last]))
      cut = last;
    else if (last > 0 && is_ascii_punctuation(word[0]))
      cut = 1;
    if (cut > 0) words.push_back(word.substr(0, cut));
    words.push_back(word.substr(cut));
  }
  return words;
}

std::vector<NgramCounts> ngrams_of(const std::string& sentence, const ChrfOptions& options) {
  std::u32string text = decode(sentence);
  if (options.lowercase) text = lower(text);
  std::u32string characters = text;
  if (!options.whitespace) std::erase_if(characters, is_python_space);
  std::vector<NgramCounts> orders;
  for (size_t n = 1; n <= static_cast<size_t>(options.char_order); ++n) {
    NgramCounts& counts = orders.emplace_back();
    for (size_t i = 0; i + n <= characters.size(); ++i) ++counts[characters.substr(i, n)];
  }
  if (options.word_order == 0) return orders;
  const auto words = words_and_marks(text);
  for (size_t n = 1; n <= static_cast<size_t>(options.word_order); ++n)
    orders.push_back(word_ngrams(words, n));
  return orders;
}

double f_score(const std::vector<Match>& orders, const ChrfOptions& options) {
  constexpr double kEpsilon = 1e-16;
  const double factor = options.beta * options.beta;
  double smoothed = 0, precisions = 0, recalls = 0;
  int effective = 0;
  for (const Match& match : orders) {
    const auto both = static_cast<double>(match.both);
    const double precision =
        match.hypothesis > 0 ? both / static_cast<double>(match.hypothesis) : kEpsilon;
    const double recall =
        match.reference > 0 ? both / static_cast<double>(match.reference) : kEpsilon;
    const double whole = factor * precision + recall;
    smoothed += whole > 0 ? (1 + factor) * precision * recall / whole : kEpsilon;
    if (match.hypothesis == 0 || match.reference == 0) continue;
    precisions += precision;
    recalls += recall;
    ++effective;
  }
  if (options.epsilon) return 100 * smoothed / static_cast<double>(orders.size());
  if (precisions + recalls == 0) return 0;
  precisions /= effective;
  recalls /= effective;
  return 100 * (1 + factor) * precisions * recalls / (factor * precisions + recalls);
}

// Against the reference that gives the best score.
std::vector<Match> best_match(const std::string& hypothesis, References references, size_t i,
                              const ChrfOptions& options) {
  const auto own = ngrams_of(hypothesis, options);
  std::vector<Match> best;
  double best_score = -1;
  for (const auto& reference : references) {
    const auto others = ngrams_of(reference[i], options);
    std::vector<Match> orders;
    for (size_t n = 0; n < own.size(); ++n)
      orders.push_back(
          {others[n].empty() ? 0 : total(own[n]), total(others[n]), matches(own[n], others[n])});
    const double score = f_score(orders, options);
    if (score <= best_score) continue;
    best_score = score;
    best = std::move(orders);
  }
  return best;
}

}  // namespace

ChrfScore chrf(std::span<const std::string> hypotheses, References references,
               const ChrfOptions& options) {
  check_corpus("chrf", hypotheses, references);
  constexpr int kMaxOrder = 100;
  require<ValueError>(options.char_order > 0 && options.char_order <= kMaxOrder &&
                          options.word_order >= 0 && options.word_order <= kMaxOrder &&
                          options.beta > 0,
                      "chrf: expected positive orders and beta, found {}, {} and {}",
                      options.char_order, options.word_order, options.beta);
  std::vector<Match> sum(static_cast<size_t>(options.char_order + options.word_order));
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const auto orders = best_match(hypotheses[i], references, i, options);
    for (size_t n = 0; n < sum.size(); ++n) {
      sum[n].hypothesis += orders[n].hypothesis;
      sum[n].reference += orders[n].reference;
      sum[n].both += orders[n].both;
    }
  }
  return {
      f_score(sum, options),
      fmt::format("chrF{}{}", options.beta,
                  std::string(static_cast<size_t>(options.word_order), '+')),
      fmt::format("nrefs:{}|case:{}|eff:{}|nc:{}|nw:{}|space:{}|version:2.6.0", references.size(),
                  options.lowercase ? "lc" : "mixed", options.epsilon ? "no" : "yes",
                  options.char_order, options.word_order, options.whitespace ? "yes" : "no")};
}

}  // namespace glassformer
