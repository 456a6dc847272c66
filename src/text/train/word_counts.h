#pragma once

#include <span>
#include <string>
#include <vector>

#include "glassformer/text/train_tokenizer.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/vocabulary.h"

namespace glassformer {

// Different words in the order in which they were first seen, and how often each occurs.
class WordCounts {
 public:
  void add(std::string_view word, int64_t count);

  size_t size() const { return counts_.size(); }
  std::string_view word(size_t i) const { return *words_.token(static_cast<uint32_t>(i)); }
  int64_t count(size_t i) const { return counts_[i]; }

 private:
  Vocabulary words_;  // word i has number i
  std::vector<int64_t> counts_;
};

// The words that the two steps make of `texts`; `normalizer` may be null. The same for any number
// of threads.
WordCounts count_words(std::span<const std::string> texts, const Normalizer* normalizer,
                       const PreTokenizer& pre_tokenizer, const TrainingProgress& progress);

}  // namespace glassformer
