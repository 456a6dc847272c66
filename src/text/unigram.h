#pragma once

#include <array>

#include "text/model.h"
#include "text/trie.h"

namespace glassformer {

struct UnigramOptions {
  std::optional<uint32_t> unknown;  // the token of what has none
  bool byte_fallback = false;       // unknown characters become <0x..> tokens
  // As the sentencepiece library computes it: sums in float32, `hidden` tokens never chosen, and an
  // unknown run never looked up as a whole.
  bool as_sentence_piece = false;
  std::vector<bool> hidden;
  std::optional<double> lowest;  // the lowest score, where it is not that of all tokens
};

// The segmentation of a piece whose tokens have the largest sum of scores. A character without a
// token costs the lowest score less 10; runs of such characters become one unknown token.
class Unigram : public PieceModel {
 public:
  // `scores[i]` is that of token i. Throws FileError, naming `where`, for an unknown token that is
  // not one of them.
  Unigram(Vocabulary vocabulary, std::vector<double> scores, UnigramOptions options,
          const std::string& where);

  void tokenize(std::string_view piece, ModelScratch& scratch,
                std::vector<PieceToken>& tokens) const override;
  std::string spelling(const PieceToken& token, std::string_view piece) const override;

 private:
  void find_best_path(std::string_view piece, ModelScratch& scratch) const;
  void add_unknown(std::string_view piece, uint32_t begin, uint32_t end,
                   std::vector<PieceToken>& tokens) const;
  uint32_t unknown_id() const;

  std::vector<double> scores_;
  UnigramOptions options_;
  double unknown_score_ = 0;
  std::array<uint32_t, 256> byte_ids_;
  Trie trie_;
};

}  // namespace glassformer
