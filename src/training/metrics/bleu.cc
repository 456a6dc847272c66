#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/check.h"
#include "glassformer/training/metrics.h"
#include "training/metrics/bleu_tokenizer.h"
#include "training/metrics/ngrams.h"
#include "training/metrics/python_text.h"

namespace glassformer {
namespace {

using Smoothing = BleuOptions::Smoothing;

std::vector<std::u32string> words_of(const std::string& sentence, const BleuOptions& options) {
  std::u32string text = decode(sentence);
  if (options.lowercase) text = lower(text);
  return bleu_words(rstrip(text), options.tokenizer);
}

// Adds what sentence i brings.
void add_sentence(const std::string& hypothesis, References references, size_t i,
                  const BleuOptions& options, BleuScore& score) {
  const auto words = words_of(hypothesis, options);
  const auto length = static_cast<int64_t>(words.size());
  std::array<NgramCounts, BleuScore::kOrder> known;  // the most that any reference has
  int64_t closest = -1;
  for (const auto& reference : references) {
    const auto others = words_of(reference[i], options);
    const auto other = static_cast<int64_t>(others.size());
    const int64_t apart = std::abs(other - length), best = std::abs(closest - length);
    if (closest < 0 || apart < best || (apart == best && other < closest)) closest = other;
    for (size_t n = 0; n < known.size(); ++n)
      for (const auto& [ngram, count] : word_ngrams(others, n + 1))
        known[n][ngram] = std::max(known[n][ngram], count);
  }
  score.length += length;
  score.reference_length += closest;
  for (size_t n = 0; n < known.size(); ++n) {
    const NgramCounts own = word_ngrams(words, n + 1);
    score.totals[n] += total(own);
    score.counts[n] += matches(own, known[n]);
  }
}

double smoothing_value(const BleuOptions& options) {
  return options.smoothing_value.value_or(options.smoothing == Smoothing::kFloor ? 0.1 : 1);
}

// The precisions, and the geometric mean that they give.
void finish(const BleuOptions& options, BleuScore& score) {
  if (score.length < score.reference_length)
    score.brevity_penalty = score.length > 0
                                ? std::exp(1 - static_cast<double>(score.reference_length) /
                                                   static_cast<double>(score.length))
                                : 0;
  if (std::all_of(score.counts.begin(), score.counts.end(), [](int64_t n) { return n == 0; }))
    return;
  const double value = smoothing_value(options);
  double halves = 1;
  size_t order = BleuScore::kOrder;
  for (size_t n = 0; n < BleuScore::kOrder; ++n) {
    const double added = options.smoothing == Smoothing::kAddK && n > 0 ? value : 0;
    const double count = static_cast<double>(score.counts[n]) + added;
    const double whole = static_cast<double>(score.totals[n]) + added;
    if (whole == 0) break;
    if (options.effective_order) order = n + 1;
    if (count > 0)
      score.precisions[n] = 100 * count / whole;
    else if (options.smoothing == Smoothing::kExp)
      score.precisions[n] = 100 / ((halves *= 2) * whole);
    else if (options.smoothing == Smoothing::kFloor)
      score.precisions[n] = 100 * value / whole;
  }
  double logs = 0;
  for (size_t n = 0; n < order; ++n)
    logs += score.precisions[n] == 0 ? -9999999999 : std::log(score.precisions[n]);
  score.score = score.brevity_penalty * std::exp(logs / static_cast<double>(order));
}

std::string signature(size_t references, const BleuOptions& options) {
  constexpr const char* kTokenizers[] = {"13a", "intl", "none", "char"};
  constexpr const char* kSmoothings[] = {"exp", "floor", "add-k", "none"};
  std::string smoothing = kSmoothings[static_cast<size_t>(options.smoothing)];
  if (options.smoothing == Smoothing::kFloor || options.smoothing == Smoothing::kAddK)
    smoothing += fmt::format("[{:.2f}]", smoothing_value(options));
  return fmt::format("nrefs:{}|case:{}|eff:{}|tok:{}|smooth:{}|version:2.6.0", references,
                     options.lowercase ? "lc" : "mixed", options.effective_order ? "yes" : "no",
                     kTokenizers[static_cast<size_t>(options.tokenizer)], smoothing);
}

}  // namespace

BleuScore bleu(std::span<const std::string> hypotheses, References references,
               const BleuOptions& options) {
  check_corpus("bleu", hypotheses, references);
  BleuScore score;
  for (size_t i = 0; i < hypotheses.size(); ++i)
    add_sentence(hypotheses[i], references, i, options, score);
  finish(options, score);
  score.signature = signature(references.size(), options);
  return score;
}

}  // namespace glassformer
