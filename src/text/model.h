#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/bpe_merges.h"
#include "text/vocabulary.h"
#include "text/word_cache.h"

namespace glassformer {

// What a model needs while it works, kept from call to call by one thread at a time.
struct ModelScratch {
  WordCache cache;
  std::vector<uint32_t> ids;
  std::vector<uint32_t> sizes;
  BpeMerges::Scratch merging;
  std::vector<double> scores;
  std::vector<uint32_t> starts;
  std::string text;
};

// The tokens of a piece of text. Const methods may run on many threads, each with its own scratch.
class PieceModel {
 public:
  virtual ~PieceModel() = default;

  // Appends the tokens of `piece`. Throws ValueError where a character has no token and the model
  // has none for the unknown.
  virtual void tokenize(std::string_view piece, ModelScratch& scratch,
                        std::vector<PieceToken>& tokens) const = 0;
  // How a token of `piece` is written.
  virtual std::string spelling(const PieceToken& token, std::string_view piece) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  explicit PieceModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  Vocabulary vocabulary_;
};

// BPE, WordPiece, WordLevel or Unigram, by `type` (or, in old files, by its fields). `byte_level`:
// pieces come as plain bytes, and the vocabulary spells bytes in GPT-2's alphabet. Throws
// FileError.
std::unique_ptr<PieceModel> make_model(const JsonFields& fields, bool byte_level);
// Whether a BPE with these options can read plain bytes.
bool can_read_bytes(const JsonFields& fields);

// The object of tokens and numbers at `name`.
Vocabulary read_vocabulary(const JsonFields& fields, std::string_view name);

}  // namespace glassformer
