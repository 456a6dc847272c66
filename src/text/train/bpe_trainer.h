#pragma once

#include <string>
#include <utility>
#include <vector>

#include "glassformer/text/train_tokenizer.h"
#include "text/train/word_counts.h"

namespace glassformer {

struct TrainedBpe {
  std::vector<std::string> tokens;                         // in the order of their ids
  std::vector<std::pair<uint32_t, uint32_t>> merges = {};  // ids, in the order of their rank
};

// Byte-pair encoding: words begin as characters, and the pair of neighbours that occurs most often
// in all words is joined, the one with the lower ids where two occur as often, until there are
// vocab_size tokens or no pair occurs min_frequency times. Of `training` all fields for BPE count;
// continuing_subword_prefix is put before all characters of a word but the first. Throws ValueError
// where vocab_size cannot hold the alphabet.
TrainedBpe train_bpe(const WordCounts& words, const TokenizerTraining& training,
                     const TrainingProgress& progress);

}  // namespace glassformer
