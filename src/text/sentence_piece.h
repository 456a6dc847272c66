#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer_parts.h"

namespace glassformer {

// What a SentencePiece model says: its pieces, and how text is prepared for them.
struct SentencePieceSpec {
  enum class Type : uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::kNormal;
  };
  std::vector<Piece> pieces;
  bool unigram = true;  // or byte-pair encoding by scores
  bool byte_fallback = false;
  std::string unknown_surface = " \xE2\x81\x87 ";  // how an unknown piece is decoded
  std::string charsmap;                            // rules of normalisation; see chars_map.h
  bool add_dummy_prefix = true;
  bool remove_extra_spaces = true;
  bool escape_spaces = true;
};

// Throws FileError, naming `where`.
SentencePieceSpec parse_sentence_piece(std::string_view model, const std::string& where);
SentencePieceSpec read_sentence_piece(const std::filesystem::path& path);

// The steps of a tokenizer that does what the `sentencepiece` package does, id for id. Throws
// FileError, naming `where`, for a model that is not whole.
std::unique_ptr<Tokenizer::Parts> make_sentence_piece(const SentencePieceSpec& spec,
                                                      const std::string& where);

// Gives the tokens of a model the numbers that `numbers` has for their spellings, as in a Marian
// folder: two SentencePiece models share its vocab.json. Throws FileError, naming `where`, where
// `unknown` has none.
std::unique_ptr<PieceModel> renumber(std::unique_ptr<PieceModel> model, Vocabulary numbers,
                                     std::string_view unknown, const std::string& where);

}  // namespace glassformer
