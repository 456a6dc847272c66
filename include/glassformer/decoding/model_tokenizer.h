#pragma once

#include <filesystem>

#include "glassformer/checkpoint/gguf.h"
#include "glassformer/text/tokenizer.h"

namespace glassformer {

// The vocabulary inside a GGUF file, as plain lists. Throws FileError where there is none.
VocabularyData gguf_vocabulary(const GgufFile& file);

// The tokenizer of a model: of a folder in any layout, or inside a .gguf file. `target`: see
// Tokenizer::open. Throws FileError.
Tokenizer open_tokenizer(const std::filesystem::path& model, bool target = false);

}  // namespace glassformer
