#pragma once

#include <array>

#include "text/model.h"
#include "text/trie.h"

namespace glassformer {

// The segmentation of a piece whose tokens have the largest sum of scores. A character without a
// token costs the lowest score less 10; runs of such characters become one unknown token.
class Unigram : public Model {
 public:
  // `scores[i]` is that of token i. Throws FileError, naming `where`, for an unknown token that is
  // not one of them.
  Unigram(Vocabulary vocabulary, std::vector<double> scores, std::optional<uint32_t> unknown,
          bool byte_fallback, const std::string& where);

  void tokenize(std::string_view piece, ModelScratch& scratch,
                std::vector<PieceToken>& tokens) const override;
  std::string spelling(const PieceToken& token, std::string_view piece) const override;

 private:
  void find_best_path(std::string_view piece, ModelScratch& scratch) const;
  void add_unknown(std::string_view piece, uint32_t begin, uint32_t end,
                   std::vector<PieceToken>& tokens) const;
  uint32_t unknown_id() const;

  std::vector<double> scores_;
  std::optional<uint32_t> unknown_;
  double unknown_score_ = 0;
  bool byte_fallback_;
  std::array<uint32_t, 256> byte_ids_;
  Trie trie_;
};

}  // namespace glassformer
