#pragma once

#include "text/model.h"

namespace glassformer {

// The longest token that begins a word, then the longest that continues it, and so on; where none
// does, the whole word is unknown.
class WordPiece : public PieceModel {
 public:
  WordPiece(Vocabulary vocabulary, std::string unknown, std::string prefix, size_t longest_word);

  void tokenize(std::string_view piece, ModelScratch& scratch,
                std::vector<PieceToken>& tokens) const override;

 private:
  // False where some part of the word has no token.
  bool cut(std::string_view piece, ModelScratch& scratch, std::vector<PieceToken>& tokens) const;

  std::string unknown_;
  std::string prefix_;        // of tokens that continue a word
  size_t longest_word_;       // in characters; longer ones are unknown
  size_t longest_token_ = 0;  // in bytes
};

// A word is a token, or it is unknown.
class WordLevel : public PieceModel {
 public:
  WordLevel(Vocabulary vocabulary, std::string unknown)
      : PieceModel(std::move(vocabulary)), unknown_(std::move(unknown)) {}

  void tokenize(std::string_view piece, ModelScratch& scratch,
                std::vector<PieceToken>& tokens) const override;

 private:
  std::string unknown_;
};

}  // namespace glassformer
