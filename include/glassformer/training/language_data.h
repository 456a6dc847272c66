#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "glassformer/text/tokenizer.h"
#include "glassformer/training/dataset.h"
#include "glassformer/training/rows.h"
#include "glassformer/training/token_lists.h"

namespace glassformer {

class Masker;  // private, in src/training/data

// Masked language modelling (Devlin et al., 2019): which tokens are asked for, and what stands in
// their place. Special tokens are never chosen; at least one other of an example is.
struct Masking {
  int64_t mask_id = -1;
  double chosen = 0.15;
  double masked = 0.8;  // of those chosen, as the mask
  double random = 0.1;  // as any token of the vocabulary; the rest stay
};

struct TextBlocksOptions {
  std::vector<std::filesystem::path> files = {};  // plain or gzip
  int64_t block = 0;                              // tokens of an example
  int64_t stride = 0;  // tokens from the start of one to the start of the next; 0 is `block`
  std::optional<int64_t> end_id = {};   // stands after each file
  std::optional<Masking> masking = {};  // not given: the targets are the next tokens
};

// Text files as one stream of tokens, cut into blocks. Without masking, an example is block + 1
// tokens, the last of which is only a target; with it, the tokens that the tokenizer puts around a
// text ([CLS], [SEP]) are put around each block and count in it. What is left over at the end is
// not used. Files over 16 MiB are encoded in parts, cut after a line.
// Batches: input_ids and targets [batch, block].
class TextBlocks : public Dataset {
 public:
  // Throws ValueError for options that make no sense and where there is no whole block, FileError
  // for a file that cannot be read.
  TextBlocks(const TextBlocksOptions& options, const Tokenizer& tokenizer);

  int64_t size() const override;
  int64_t length(int64_t example) const override;
  Batch collate(std::span<const int64_t> examples, RandomKey key) const override;
  int64_t tokens() const { return static_cast<int64_t>(ids_.size()); }  // of the stream

 private:
  std::vector<int32_t> ids_;
  std::vector<int64_t> before_, after_;  // around each block
  int64_t block_, stride_;
  int64_t taken_;  // tokens of the stream in an example
  std::shared_ptr<const Masker> masker_;
};

struct PackedLinesOptions {
  TextColumn text = {};
  int64_t max_length = 0;              // tokens; what is longer is cut; 0 is no limit
  std::optional<int64_t> end_id = {};  // put after each line that does not end with it
  std::optional<Masking> masking = {};
};

// Each row an example, special tokens as the tokenizer adds them; those without a token to predict
// are left out. Batches are packed: input_ids and targets [tokens], starts.
class PackedLines : public Dataset {
 public:
  // Throws ValueError for options, FileError for a file that is malformed.
  PackedLines(const PackedLinesOptions& options, const Tokenizer& tokenizer);

  int64_t size() const override { return lines_.size(); }
  int64_t length(int64_t example) const override { return lines_.length(example); }
  Batch collate(std::span<const int64_t> examples, RandomKey key) const override;
  int64_t skipped() const { return skipped_; }  // rows without a token to predict
  int64_t cut() const { return cut_; }          // rows that were too long

 private:
  TokenLists lines_;
  int64_t skipped_ = 0, cut_ = 0;
  std::shared_ptr<const Masker> masker_;
};

}  // namespace glassformer
