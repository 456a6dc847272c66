#pragma once

#include "text/model.h"
#include "text/trie.h"

namespace glassformer {

// Byte-pair encoding as SentencePiece has it: of all neighbours that together are a piece, those
// with the best score are joined first, leftmost first.
class ScoredBpe : public PieceModel {
 public:
  enum class Kind : uint8_t {
    kPlain,
    kWhole,   // found in the text as it is, and never joined with anything
    kUnused,  // taken apart again when it is the result
    kHidden,  // never the result of a join
  };
  ScoredBpe(Vocabulary vocabulary, std::vector<float> scores, std::vector<Kind> kinds,
            uint32_t unknown, bool byte_fallback);

  void tokenize(std::string_view piece, ModelScratch& scratch,
                std::vector<PieceToken>& tokens) const override;
  std::string spelling(const PieceToken& token, std::string_view piece) const override;

 private:
  struct Work;

  // The piece that is written so, if it may come out of a join.
  std::optional<uint32_t> joined(std::string_view text) const;
  void join_all(Work& work) const;
  void offer(Work& work, int32_t left) const;
  void add(std::string_view text, uint32_t begin, const Work& work, int depth,
           std::vector<PieceToken>& tokens) const;

  std::vector<float> scores_;
  std::vector<Kind> kinds_;
  uint32_t unknown_;
  bool byte_fallback_;
  std::vector<uint32_t> byte_ids_;
  Trie whole_;
};

}  // namespace glassformer
