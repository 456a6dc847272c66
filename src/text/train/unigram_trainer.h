#pragma once

#include <vector>

#include "glassformer/text/train_tokenizer.h"
#include "text/train/seed_pieces.h"
#include "text/train/word_counts.h"

namespace glassformer {

// The pieces of a Unigram model, best score first, without the special tokens: as many as
// vocab_size leaves room for, and every character of the words and of initial_alphabet.
//
// Expectation and maximisation fit the scores: E counts how often each piece is expected over all
// ways to cut the words, M sets score = digamma(expected) - digamma(sum), a prior that favours few
// pieces, and drops pieces expected less than 0.5 times. Between rounds of it those pieces go whose
// loss would cost the likelihood least, until 1.1 times vocab_size are left. Throws ValueError
// where vocab_size cannot hold the characters.
std::vector<UnigramPiece> train_unigram(const WordCounts& words, const TokenizerTraining& training,
                                        const TrainingProgress& progress);

}  // namespace glassformer
