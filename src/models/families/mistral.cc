#include "models/families/common.h"

namespace glassformer {

// Llama with a sliding window in every layer.
Recipe mistral(const ArchitectureConfig& config) {
  Recipe recipe = llama_like(config, "Mistral");
  if (config.fields.has("sliding_window"))
    for (BlockSpec& block : recipe.spec.decoder->blocks)
      block.self_attention.window = positive(config.fields, "sliding_window");
  return recipe;
}

}  // namespace glassformer
