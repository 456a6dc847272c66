#include "models/gguf_recipe.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace glassformer {
namespace {

// The number of tokens: of the table, since a file need not hold the tokens themselves.
int64_t vocabulary_of(const GgufFile& file) {
  const StoredTensor* table = file.find("token_embd.weight");
  require<FileError>(table != nullptr && table->shape.rank() == 2,
                     "{}: tensor 'token_embd.weight' is missing or is no matrix", file.where());
  return table->shape[0];
}

Json gpt2_config(const GgufFile& file) {
  return {{"model_type", "gpt2"},
          {"architectures", {"GPT2LMHeadModel"}},
          {"vocab_size", vocabulary_of(file)},
          {"n_embd", file.integer("gpt2.embedding_length")},
          {"n_layer", file.integer("gpt2.block_count")},
          {"n_head", file.integer("gpt2.attention.head_count")},
          {"n_inner", file.integer("gpt2.feed_forward_length")},
          {"n_positions", file.integer("gpt2.context_length")},
          {"layer_norm_epsilon", file.number("gpt2.attention.layer_norm_epsilon")},
          {"tie_word_embeddings", file.find("output.weight") == nullptr}};
}

// What llama.cpp calls the scaling kinds. Llama 3's frequencies come as a tensor of their own.
Json rope_parameters(const GgufFile& file, const std::string& prefix) {
  Json rope{{"rope_theta", file.number(prefix + "rope.freq_base", 10000)}};
  const std::string kind = file.text(prefix + "rope.scaling.type", "none");
  rope["rope_type"] = kind == "none" ? "default" : kind;
  if (kind == "none") return rope;
  rope["factor"] = file.number(prefix + "rope.scaling.factor");
  if (file.has(prefix + "rope.scaling.original_context_length"))
    rope["original_max_position_embeddings"] =
        file.integer(prefix + "rope.scaling.original_context_length");
  return rope;
}

Json llama_config(const GgufFile& file, const std::string& type) {
  const std::string prefix = type + ".";
  const int64_t heads = file.integer(prefix + "attention.head_count");
  const int64_t width = file.integer(prefix + "embedding_length");
  Json config{{"model_type", type},
              {"architectures", {type == "llama" ? "LlamaForCausalLM" : "Qwen2ForCausalLM"}},
              {"vocab_size", vocabulary_of(file)},
              {"hidden_size", width},
              {"num_hidden_layers", file.integer(prefix + "block_count")},
              {"num_attention_heads", heads},
              {"num_key_value_heads", file.integer(prefix + "attention.head_count_kv", heads)},
              {"intermediate_size", file.integer(prefix + "feed_forward_length")},
              {"max_position_embeddings", file.integer(prefix + "context_length")},
              {"rms_norm_eps", file.number(prefix + "attention.layer_norm_rms_epsilon")},
              {"rope_parameters", rope_parameters(file, prefix)},
              {"tie_word_embeddings", file.find("output.weight") == nullptr}};
  if (file.has(prefix + "attention.key_length"))
    config["head_dim"] = file.integer(prefix + "attention.key_length");
  return config;
}

NameMap gguf_names() {
  NameMap names;
  names.add("embedding.tokens", "token_embd")
      .add("embedding.positions", "position_embd")
      .add("decoder.norm", "output_norm")
      .add("head.output", "output")
      .below("decoder.*.", "blk.*.",
             {{"norm_1", "attn_norm"},
              {"self_attention.query", "attn_q"},
              {"self_attention.key", "attn_k"},
              {"self_attention.value", "attn_v"},
              {"self_attention.output", "attn_output"},
              {"norm_2", "ffn_norm"},
              {"feed_forward.gate", "ffn_gate"},
              {"feed_forward.up", "ffn_up"},
              {"feed_forward.down", "ffn_down"}});
  // GPT-2's three projections in one.
  const char* parts[] = {"query", "key", "value"};
  for (int i = 0; i < 3; ++i)
    names.add(fmt::format("decoder.*.self_attention.{}", parts[i]), "blk.*.attn_qkv",
              {.part = i, .parts = 3});
  return names;
}

}  // namespace

Json gguf_config(const GgufFile& file) {
  const std::string type = file.text("general.architecture");
  require<ValueError>(type == "llama" || type == "qwen2" || type == "gpt2",
                      "{}: unknown architecture '{}'; there are: llama, qwen2, gpt2", file.where(),
                      type);
  Json config = type == "gpt2" ? gpt2_config(file) : llama_config(file, type);
  for (const auto& [key, field] : {std::pair{"tokenizer.ggml.bos_token_id", "bos_token_id"},
                                   {"tokenizer.ggml.eos_token_id", "eos_token_id"},
                                   {"tokenizer.ggml.padding_token_id", "pad_token_id"}})
    if (file.has(key)) config[field] = file.integer(key);
  return config;
}

Recipe gguf_recipe(const GgufFile& file, const JsonFields& config) {
  Recipe recipe = make_recipe(config);
  recipe.folder_names = std::exchange(recipe.names, gguf_names());
  // llama.cpp reorders Llama's queries and keys so that a pair lies side by side.
  if (config.text("model_type") == "llama")
    recipe.spec.decoder->positions.rotary_layout = RotaryOptions::Layout::kInterleaved;
  // Llama 3.1 and later bring their scaling along, a factor for every pair of elements.
  if (file.find("rope_freqs.weight") != nullptr)
    recipe.spec.decoder->positions.rotary.factors =
        file.get("rope_freqs.weight").to_vector<float>();
  return recipe;
}

}  // namespace glassformer
