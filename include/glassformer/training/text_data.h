#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glassformer/text/tokenizer.h"
#include "glassformer/training/dataset.h"
#include "glassformer/training/rows.h"
#include "glassformer/training/token_lists.h"

namespace glassformer {

struct ParallelTextOptions {
  TextColumn source = {}, target = {};  // two files, or two columns of one
  int64_t pad_id = 0;
  int64_t decoder_start_id = 0;
  int64_t max_length = 0;  // tokens of a side; 0 is no limit
  bool skip_long = false;  // leave out pairs with a longer side; otherwise it is cut
};

// Translations. Batches: input_ids and attention_mask [batch, source], decoder_input_ids (the
// target behind decoder_start_id, without its last token), decoder_attention_mask and targets
// [batch, target].
class ParallelText : public Dataset {
 public:
  // Throws FileError where the sides differ in their number of rows.
  ParallelText(const ParallelTextOptions& options, const Tokenizer& source,
               const Tokenizer& target);

  int64_t size() const override { return sources_.size(); }
  int64_t length(int64_t example) const override;
  Batch collate(std::span<const int64_t> examples, RandomKey key) const override;
  int64_t skipped() const { return skipped_; }  // pairs with an empty or too long side
  int64_t cut() const { return cut_; }          // sides that were too long

 private:
  TokenLists sources_, targets_;
  int64_t pad_id_, decoder_start_id_;
  int64_t skipped_ = 0, cut_ = 0;
};

struct LabelledTextOptions {
  RowSource rows = {};
  std::string text = "text";
  std::string pair = {};  // a second text that goes with it; empty: there is none
  std::string label = "label";
  LabelOptions labels = {};
  int64_t max_length = 0;  // tokens; what is longer is cut
};

// Texts with a class each: targets int64 [batch]; or a number: float32 [batch, 1]. Packed.
class LabelledText : public Dataset {
 public:
  // Throws FileError, naming file and line, for a column that is missing and a label that is none.
  LabelledText(const LabelledTextOptions& options, const Tokenizer& tokenizer);

  int64_t size() const override { return texts_.size(); }
  int64_t length(int64_t example) const override { return texts_.length(example); }
  Batch collate(std::span<const int64_t> examples, RandomKey key) const override;

 private:
  TokenLists texts_, types_;  // types_ is empty where every token's is 0
  std::vector<double> labels_;
  bool numbers_;
};

struct LabelledWordsOptions {
  RowSource rows = {.format = RowFormat::kJsonl};  // JSONL; both columns are lists
  std::string words = "words";
  std::string labels_column = "labels";
  LabelOptions labels = {};
  int64_t max_length = 0;
};

// Words with a class each, for token classification: the first token of a word has its label, the
// others are ignored. Words are put together with spaces. Packed; targets [tokens].
class LabelledWords : public Dataset {
 public:
  LabelledWords(const LabelledWordsOptions& options, const Tokenizer& tokenizer);

  int64_t size() const override { return texts_.size(); }
  int64_t length(int64_t example) const override { return texts_.length(example); }
  Batch collate(std::span<const int64_t> examples, RandomKey key) const override;

 private:
  TokenLists texts_, targets_;
};

struct TextPairsOptions {
  RowSource rows = {};
  std::string anchor = "anchor";
  std::string positive = "positive";
  int64_t max_length = 0;
};

// Pairs of texts that mean the same, for contrastive training. Packed: all anchors, then all
// positives in the same order; no targets, target_count is the number of pairs.
class TextPairs : public Dataset {
 public:
  TextPairs(const TextPairsOptions& options, const Tokenizer& tokenizer);

  int64_t size() const override { return anchors_.size(); }
  int64_t length(int64_t example) const override;
  Batch collate(std::span<const int64_t> examples, RandomKey key) const override;

 private:
  TokenLists anchors_, positives_;
};

}  // namespace glassformer
