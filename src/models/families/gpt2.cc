#include <cmath>

#include "models/families/common.h"

namespace glassformer {

Recipe gpt2(const ArchitectureConfig& config) {
  const std::string kind = config.kind("GPT2", {"Model", "LMHeadModel"});
  const JsonFields& fields = config.fields;
  const int64_t width = positive(fields, "n_embd");
  const PlainSizes sizes{layer_count(fields, "n_layer"), width, positive(fields, "n_head"),
                         positive(fields, "n_inner", 4 * width)};
  const NormSpec norm{NormSpec::Kind::kLayer, fields.number("layer_norm_epsilon", 1e-5)};
  const double range = fields.number("initializer_range", 0.02);
  BlockSpec block =
      plain_block(fields, sizes, activation_of(fields, "activation_function", "gelu_new"), norm,
                  true, normal(range));
  // Each layer adds to the residual twice; the start keeps the sum's variance (GPT-2, section 2.3).
  const Initial last = normal(range / std::sqrt(2.0 * static_cast<double>(sizes.layers)));
  block.self_attention.output_initial = block.feed_forward.output_initial = last;
  const double dropout = fields.number("resid_pdrop", 0.1);
  set_dropouts(block, fields.number("attn_pdrop", 0.1), 0, dropout);

  Recipe recipe{.spec = {}, .names = NameMap("transformer.")};
  recipe.spec.decoder = {.blocks = std::vector(static_cast<size_t>(sizes.layers), block),
                         .causal = true,
                         .final_norm = norm};
  const bool scaled = fields.boolean("scale_attn_weights", true);
  const bool by_layer = fields.boolean("scale_attn_by_inverse_layer_idx", false);
  for (size_t i = 0; i < recipe.spec.decoder->blocks.size(); ++i) {
    AttentionSpec& attention = recipe.spec.decoder->blocks[i].self_attention;
    const double scale = scaled ? 1 / std::sqrt(static_cast<double>(attention.head_size)) : 1;
    if (!scaled || by_layer)
      attention.scale = by_layer ? scale / static_cast<double>(i + 1) : scale;
  }
  recipe.spec.tokens = {.vocabulary = positive(fields, "vocab_size"),
                        .width = width,
                        .positions = {.kind = PositionSpec::Kind::kLearned,
                                      .max_positions = positive(fields, "n_positions", 1024)},
                        .dropout = fields.number("embd_pdrop", 0.1),
                        .initial = normal(range)};
  if (kind == "LMHeadModel")
    recipe.spec.head = {.kind = HeadSpec::Kind::kLanguageModel,
                        .outputs = recipe.spec.tokens->vocabulary,
                        .bias = false,
                        .tied = fields.boolean("tie_word_embeddings", true),
                        .initial = normal(range)};
  // The weights are stored as x · W, the other way round, and the three projections as one.
  const StoredForm turned{.transposed = true};
  const auto part = [](int i) { return StoredForm{.transposed = true, .part = i, .parts = 3}; };
  recipe.names.add("embedding.tokens", "~wte")
      .add("embedding.positions", "~wpe")
      .add("decoder.*.norm_1", "~h.*.ln_1")
      .add("decoder.*.self_attention.query", "~h.*.attn.c_attn", part(0))
      .add("decoder.*.self_attention.key", "~h.*.attn.c_attn", part(1))
      .add("decoder.*.self_attention.value", "~h.*.attn.c_attn", part(2))
      .add("decoder.*.self_attention.output", "~h.*.attn.c_proj", turned)
      .add("decoder.*.norm_2", "~h.*.ln_2")
      .add("decoder.*.feed_forward.up", "~h.*.mlp.c_fc", turned)
      .add("decoder.*.feed_forward.down", "~h.*.mlp.c_proj", turned)
      .add("decoder.norm", "~ln_f")
      .add("head.output", "lm_head");
  return recipe;
}

}  // namespace glassformer
