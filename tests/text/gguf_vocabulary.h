#pragma once

#include <filesystem>

#include "glassformer/text/vocabulary_data.h"

namespace glassformer::testing {

// The tokenizer in a GGUF file's metadata. For files that are known to be whole; throws
// std::runtime_error for others.
VocabularyData read_gguf_vocabulary(const std::filesystem::path& path);

}  // namespace glassformer::testing
