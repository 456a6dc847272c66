#pragma once

#include <array>
#include <optional>
#include <utility>

#include "text/bpe_merges.h"
#include "text/model.h"

namespace glassformer {

struct BpeOptions {
  std::optional<std::string> unknown;  // the token of what has none
  std::string prefix;                  // before every character but the first
  std::string suffix;                  // after the last character
  bool fuse_unknown = false;           // neighbouring unknown characters become one token
  bool byte_fallback = false;          // a character without a token becomes <0x..> tokens
  bool ignore_merges = false;          // a piece that is a token stays whole
  bool byte_level = false;             // pieces are bytes; see make_model()
};

// Byte-pair encoding: a piece starts as characters (or bytes), and the pair of neighbours whose
// merge has the lowest rank is joined, leftmost first, until no pair has a merge.
class Bpe : public PieceModel {
 public:
  // Merges in the order of their rank. Throws FileError, naming `where`, for one whose tokens or
  // whose result are not in the vocabulary.
  Bpe(Vocabulary vocabulary,
      const std::vector<std::pair<std::string_view, std::string_view>>& merges, BpeOptions options,
      const std::string& where);

  void tokenize(std::string_view piece, ModelScratch& scratch,
                std::vector<PieceToken>& tokens) const override;

 private:
  static constexpr uint32_t kNoToken = UINT32_MAX;

  void read_merges(const std::vector<std::pair<std::string_view, std::string_view>>& merges,
                   const std::string& where);
  void start_with_bytes(std::string_view piece, ModelScratch& scratch) const;
  void start_with_characters(std::string_view piece, ModelScratch& scratch) const;
  bool add_byte_tokens(std::string_view character, ModelScratch& scratch) const;
  uint32_t unknown_id() const;

  BpeOptions options_;
  std::optional<uint32_t> unknown_;
  std::array<uint32_t, 256> byte_ids_;      // of single bytes, byte level
  std::array<uint32_t, 256> fallback_ids_;  // of <0x00> ... <0xFF>
  BpeMerges merges_;
  Vocabulary bytes_;  // byte level: tokens as the bytes they spell
};

}  // namespace glassformer
