#include "text/train/word_counts.h"

#include <algorithm>

#include "base/check.h"
#include "base/parallel.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

// Texts that one task counts, and tasks between two reports of progress. Counts of neighbouring
// blocks, put together in order, list the words as one walk over all texts would.
constexpr size_t kBlock = 2048;
constexpr size_t kBlocks = 16;
constexpr size_t kLongestText = size_t{1} << 30;

void count_block(std::span<const std::string> texts, const Normalizer* normalizer,
                 const PreTokenizer& pre_tokenizer, WordCounts& words) {
  Pieces pieces;
  std::string repaired;
  for (const std::string& text : texts) {
    require<ValueError>(text.size() <= kLongestText,
                        "train_tokenizer: texts up to {} bytes, found one of {}", kLongestText,
                        text.size());
    const bool valid = valid_utf8(text) == text.size();
    if (!valid) repaired = replace_invalid_utf8(text);
    pieces.assign(valid ? text : repaired);
    if (normalizer != nullptr)
      pieces.edit([&](NormalizedText& piece, bool) { normalizer->apply(piece); });
    pre_tokenizer.apply(pieces);
    for (const Pieces::Piece& piece : pieces.list()) words.add(pieces.view(piece), 1);
  }
}

}  // namespace

void WordCounts::add(std::string_view word, int64_t count) {
  if (const auto known = words_.find(word)) {
    counts_[*known] += count;
    return;
  }
  words_.add(word, static_cast<uint32_t>(counts_.size()));
  counts_.push_back(count);
}

WordCounts count_words(std::span<const std::string> texts, const Normalizer* normalizer,
                       const PreTokenizer& pre_tokenizer, const TrainingProgress& progress) {
  WordCounts words;
  for (size_t begin = 0; begin < texts.size(); begin += kBlock * kBlocks) {
    const auto batch = texts.subspan(begin, std::min(kBlock * kBlocks, texts.size() - begin));
    std::vector<WordCounts> blocks((batch.size() + kBlock - 1) / kBlock);
    parallel_tasks(static_cast<int64_t>(blocks.size()), [&](int64_t i) {
      const size_t first = static_cast<size_t>(i) * kBlock;
      count_block(batch.subspan(first, std::min(kBlock, batch.size() - first)), normalizer,
                  pre_tokenizer, blocks[static_cast<size_t>(i)]);
    });
    for (const WordCounts& block : blocks)
      for (size_t i = 0; i < block.size(); ++i) words.add(block.word(i), block.count(i));
    if (progress)
      progress("words", static_cast<int64_t>(begin + batch.size()),
               static_cast<int64_t>(texts.size()));
  }
  return words;
}

}  // namespace glassformer
