#include <cmath>

#include <fmt/format.h>

#include "models/families/common.h"

namespace glassformer {
namespace {

StackSpec stack_of(const JsonFields& fields, const std::string& side, const NormSpec& norm,
                   Initial initial) {
  const PlainSizes sizes{layer_count(fields, side + "_layers"), positive(fields, "d_model"),
                         positive(fields, side + "_attention_heads"),
                         positive(fields, side + "_ffn_dim")};
  BlockSpec block = plain_block(fields, sizes, activation_of(fields, "activation_function", "gelu"),
                                norm, false, initial);
  if (side == "decoder") block.cross_attention = block.self_attention;
  set_dropouts(block, fields.number("attention_dropout", 0), fields.number("activation_dropout", 0),
               fields.number("dropout", 0.1));
  return {.blocks = std::vector(static_cast<size_t>(sizes.layers), block),
          .causal = side == "decoder"};
}

void add_names(NameMap& names) {
  for (const std::string side : {"encoder", "decoder"}) {
    names.below(side + ".*.", fmt::format("~{}.layers.*.", side),
                {{"self_attention.query", "self_attn.q_proj"},
                 {"self_attention.key", "self_attn.k_proj"},
                 {"self_attention.value", "self_attn.v_proj"},
                 {"self_attention.output", "self_attn.out_proj"},
                 {"norm_1", "self_attn_layer_norm"},
                 {"feed_forward.up", "fc1"},
                 {"feed_forward.down", "fc2"}});
  }
  names.add("encoder.*.norm_2", "~encoder.layers.*.final_layer_norm")
      .below("decoder.*.", "~decoder.layers.*.",
             {{"cross_attention.query", "encoder_attn.q_proj"},
              {"cross_attention.key", "encoder_attn.k_proj"},
              {"cross_attention.value", "encoder_attn.v_proj"},
              {"cross_attention.output", "encoder_attn.out_proj"},
              {"norm_2", "encoder_attn_layer_norm"},
              {"norm_3", "final_layer_norm"}})
      .below("embedding.", "~encoder.",
             {{"positions", "embed_positions"}, {"norm", "layernorm_embedding"}})
      .below("decoder_embedding.", "~decoder.",
             {{"tokens", "embed_tokens"},
              {"positions", "embed_positions"},
              {"norm", "layernorm_embedding"}})
      .add("head.output.bias", "final_logits_bias", {.row = true})
      .add("head.output", "lm_head");
}

}  // namespace

Recipe fairseq_like(const ArchitectureConfig& config) {
  const JsonFields& fields = config.fields;
  const NormSpec norm{NormSpec::Kind::kLayer, 1e-5};
  const Initial initial = normal(fields.number("init_std", 0.02));
  const int64_t width = positive(fields, "d_model");

  Recipe recipe{.spec = {}, .names = NameMap("model.")};
  recipe.spec.encoder = stack_of(fields, "encoder", norm, initial);
  recipe.spec.decoder = stack_of(fields, "decoder", norm, initial);
  recipe.spec.tokens = {
      .vocabulary = positive(fields, "vocab_size"),
      .width = width,
      .padding = fields.integer("pad_token_id", 1),
      .scale = fields.boolean("scale_embedding", false) ? std::sqrt(static_cast<double>(width)) : 1,
      .dropout = fields.number("dropout", 0.1),
      .initial = initial};
  recipe.spec.decoder_tokens = recipe.spec.tokens;
  recipe.spec.shared_tokens = true;
  add_names(recipe.names);
  return recipe;
}

}  // namespace glassformer
