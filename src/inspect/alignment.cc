#include "glassformer/inspect/alignment.h"

#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

bool is_space(const std::string& text, int64_t at) {
  if (at < 0 || at >= static_cast<int64_t>(text.size())) return false;
  const char c = text[static_cast<size_t>(at)];
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// A sign by itself: no letter, digit or byte of a longer character.
bool is_punctuation(const Report::Side& side, const Report::Token& token) {
  bool sign = false;
  for (int64_t at = token.start; at < token.end; ++at) {
    const auto c = static_cast<unsigned char>(side.text[static_cast<size_t>(at)]);
    if (c >= 0x80 || std::isalnum(c) != 0) return false;
    sign = sign || !is_space(side.text, at);
  }
  return sign;
}

}  // namespace

std::vector<std::pair<int64_t, int64_t>> words_of(const Report::Side& side) {
  std::vector<std::pair<int64_t, int64_t>> words;
  bool inside = false;
  for (size_t i = 0; i < side.tokens.size(); ++i) {
    const Report::Token& token = side.tokens[i];
    const auto at = static_cast<int64_t>(i);
    if (token.start == token.end) {
      inside = false;
      continue;
    }
    const bool sign = is_punctuation(side, token);
    const bool begins =
        !inside || sign || is_space(side.text, token.start) || is_space(side.text, token.start - 1);
    if (begins)
      words.emplace_back(at, at);
    else
      words.back().second = at;
    inside = !sign;
  }
  return words;
}

Report::Words align_words(const Report::Side& source, const Report::Side& target,
                          const Tensor& weights) {
  const auto from = static_cast<int64_t>(source.tokens.size());
  const auto to = static_cast<int64_t>(target.tokens.size());
  require<ShapeError>(weights.shape() == Shape({to, from}),
                      "align_words: expected weights [{}, {}], found {}", to, from,
                      weights.shape());
  const std::vector<double> values = weights.to_vector<double>();
  Report::Words words{words_of(source), words_of(target), {}};
  for (size_t t = 0; t < words.target.size(); ++t) {
    std::vector<double> shares;
    double total = 0, best = 0;
    for (const auto& [first, last] : words.source) {
      double share = 0;
      for (int64_t i = std::max<int64_t>(words.target[t].first, 1); i <= words.target[t].second;
           ++i)
        for (int64_t j = first; j <= last; ++j)
          share += values[static_cast<size_t>((i - 1) * from + j)];
      shares.push_back(share);
      total += share, best = std::max(best, share);
    }
    for (size_t s = 0; s < shares.size(); ++s)
      if (total > 0 && shares[s] >= best / 2)
        words.pairs.push_back(
            {static_cast<int64_t>(s), static_cast<int64_t>(t), shares[s] / total});
  }
  return words;
}

}  // namespace glassformer
