#pragma once

#include "glassformer/checkpoint/gguf.h"
#include "models/recipe.h"

namespace glassformer {

// A GGUF file's metadata as the config.json of the same model. Throws ValueError for an
// architecture other than llama, qwen2 and gpt2, FileError for keys that are missing.
Json gguf_config(const GgufFile& file);

// The recipe of such a configuration, with the names and the layout of a GGUF file.
Recipe gguf_recipe(const GgufFile& file, const JsonFields& config);

}  // namespace glassformer
