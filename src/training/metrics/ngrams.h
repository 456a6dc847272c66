#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace glassformer {

using NgramCounts = std::unordered_map<std::u32string, int64_t>;

// Of `order` words, with a space between; words have none.
inline NgramCounts word_ngrams(const std::vector<std::u32string>& words, size_t order) {
  NgramCounts counts;
  for (size_t i = 0; i + order <= words.size(); ++i) {
    std::u32string ngram = words[i];
    for (size_t j = 1; j < order; ++j) ngram += U' ' + words[i + j];
    ++counts[ngram];
  }
  return counts;
}

inline int64_t total(const NgramCounts& counts) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : counts) sum += count;
  return sum;
}

// What the two have in common.
inline int64_t matches(const NgramCounts& counts, const NgramCounts& others) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : counts) {
    const auto other = others.find(ngram);
    if (other != others.end()) sum += std::min(count, other->second);
  }
  return sum;
}

}  // namespace glassformer
