#pragma once

#include <string>
#include <vector>

#include "text/train/word_counts.h"

namespace glassformer {

struct UnigramPiece {
  std::string text;
  double score;  // the logarithm of its probability
};

// What the training of a Unigram model begins with: all characters, most frequent first, then the
// substrings of 2 to `longest` characters that come up in the list of words at least twice and go
// on in more than one way (the inner nodes of its suffix tree), the largest product of occurrences
// and length first; `limit` in all. Scores are the logarithms of shares: of occurrences in the
// texts for characters, of those products for substrings.
std::vector<UnigramPiece> seed_pieces(const WordCounts& words, size_t longest, size_t limit);

}  // namespace glassformer
