#include "base/check.h"
#include "models/families/common.h"

namespace glassformer {
namespace {

// Windows in the layers that `layer_types` names (new), or from `max_window_layers` on (old).
void set_windows(const JsonFields& fields, std::vector<BlockSpec>& blocks) {
  if (!fields.boolean("use_sliding_window", false) || !fields.has("sliding_window")) return;
  const int64_t window = positive(fields, "sliding_window");
  if (fields.has("layer_types")) {
    const std::vector<std::string> types = fields.texts("layer_types");
    require<ValueError>(types.size() == blocks.size(), "{}: {} layer_types for {} layers",
                        fields.where(), types.size(), blocks.size());
    for (size_t i = 0; i < blocks.size(); ++i)
      if (types[i] == "sliding_attention") blocks[i].self_attention.window = window;
    return;
  }
  const int64_t first = fields.integer("max_window_layers", static_cast<int64_t>(blocks.size()));
  for (size_t i = 0; i < blocks.size(); ++i)
    if (static_cast<int64_t>(i) >= first) blocks[i].self_attention.window = window;
}

}  // namespace

// Llama with biases on query, key and value.
Recipe qwen2(const ArchitectureConfig& config) {
  Recipe recipe = llama_like(config, "Qwen2");
  for (BlockSpec& block : recipe.spec.decoder->blocks) {
    block.self_attention.bias = true;
    block.self_attention.output_bias = false;
  }
  set_windows(config.fields, recipe.spec.decoder->blocks);
  return recipe;
}

// Llama with a norm on each head's query and key, and heads of 128 unless it says otherwise.
Recipe qwen3(const ArchitectureConfig& config) {
  Recipe recipe = llama_like(config, "Qwen3", 128);
  for (BlockSpec& block : recipe.spec.decoder->blocks) {
    block.self_attention.query_key_norm = true;
    block.self_attention.norm_epsilon = block.norm.epsilon;
  }
  set_windows(config.fields, recipe.spec.decoder->blocks);
  return recipe;
}

}  // namespace glassformer
