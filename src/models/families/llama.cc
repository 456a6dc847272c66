#include "base/check.h"
#include "models/families/common.h"

namespace glassformer {

Recipe llama_like(const ArchitectureConfig& config, const std::string& family, int64_t head_size) {
  const std::string kind = config.kind(family, {"Model", "ForCausalLM"});
  const JsonFields& fields = config.fields;
  const int64_t layers = layer_count(fields, "num_hidden_layers");
  const int64_t width = positive(fields, "hidden_size");
  const int64_t heads = positive(fields, "num_attention_heads");
  const int64_t key_heads = positive(fields, "num_key_value_heads", heads);
  require<ValueError>(heads % key_heads == 0, "{}: {} heads cannot share {} key heads",
                      fields.where(), heads, key_heads);
  if (fields.has("head_dim"))
    head_size = positive(fields, "head_dim");
  else if (head_size == 0)
    head_size = head_size_of(fields, width, heads);
  const NormSpec norm{NormSpec::Kind::kRms, fields.number("rms_norm_eps", 1e-6)};
  const Initial initial = normal(fields.number("initializer_range", 0.02));
  const bool bias = fields.boolean("attention_bias", false);

  BlockSpec block;
  block.self_attention = {.width = width,
                          .heads = heads,
                          .key_heads = key_heads,
                          .head_size = head_size,
                          .bias = bias,
                          .output_bias = bias,
                          .dropout = fields.number("attention_dropout", 0),
                          .initial = initial,
                          .output_initial = initial};
  block.feed_forward = {.width = width,
                        .hidden = positive(fields, "intermediate_size"),
                        .activation = activation_of(fields, "hidden_act", "silu"),
                        .gated = true,
                        .bias = fields.boolean("mlp_bias", false),
                        .initial = initial,
                        .output_initial = initial};
  block.norm = norm;
  block.pre_norm = true;

  Recipe recipe{.spec = {}, .names = NameMap("model.")};
  recipe.spec.decoder = {.blocks = std::vector(static_cast<size_t>(layers), block),
                         .causal = true,
                         .positions = rotary_positions(fields, head_size),
                         .final_norm = norm};
  recipe.spec.tokens = {
      .vocabulary = positive(fields, "vocab_size"), .width = width, .initial = initial};
  if (kind == "ForCausalLM")
    recipe.spec.head = {.kind = HeadSpec::Kind::kLanguageModel,
                        .outputs = recipe.spec.tokens->vocabulary,
                        .bias = false,
                        .tied = fields.boolean("tie_word_embeddings", false),
                        .initial = initial};
  recipe.names.add("embedding.tokens", "~embed_tokens")
      .below("decoder.*.", "~layers.*.",
             {{"norm_1", "input_layernorm"},
              {"self_attention.query_norm", "self_attn.q_norm"},
              {"self_attention.key_norm", "self_attn.k_norm"},
              {"self_attention.query", "self_attn.q_proj"},
              {"self_attention.key", "self_attn.k_proj"},
              {"self_attention.value", "self_attn.v_proj"},
              {"self_attention.output", "self_attn.o_proj"},
              {"norm_2", "post_attention_layernorm"},
              {"feed_forward.gate", "mlp.gate_proj"},
              {"feed_forward.up", "mlp.up_proj"},
              {"feed_forward.down", "mlp.down_proj"}})
      .add("decoder.norm", "~norm")
      .add("head.output", "lm_head");
  return recipe;
}

Recipe llama(const ArchitectureConfig& config) { return llama_like(config, "Llama"); }

}  // namespace glassformer
