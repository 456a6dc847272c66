#pragma once

#include <filesystem>
#include <memory>

#include "glassformer/text/vocabulary_data.h"
#include "text/tokenizer_parts.h"

namespace glassformer {

// The tokenizer of a model folder, whichever files it is in: tokenizer.json; vocab.txt; vocab.json
// with merges.txt; a SentencePiece model; Marian's source.spm, target.spm and vocab.json. `target`:
// for texts of the target language, where that differs. tokenizer_config.json and
// special_tokens_map.json complete it. Throws FileError.
std::unique_ptr<Tokenizer::Parts> read_folder(const std::filesystem::path& folder, bool target);

// One file: tokenizer.json, vocab.txt or a SentencePiece model.
std::unique_ptr<Tokenizer::Parts> read_file(const std::filesystem::path& file);

std::unique_ptr<Tokenizer::Parts> make_from_data(const VocabularyData& data,
                                                 const std::string& where);

}  // namespace glassformer
