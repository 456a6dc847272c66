#include <cmath>

#include <fmt/format.h>

#include "models/families/common.h"

namespace glassformer {
namespace {

// Glorot and Bengio's uniform start, which the authors' code uses.
Initial xavier(int64_t in, int64_t out) {
  return {Initial::Kind::kUniform, std::sqrt(6.0 / static_cast<double>(in + out))};
}

StackSpec stack_of(const JsonFields& fields, const std::string& side) {
  const PlainSizes sizes{layer_count(fields, "num_" + side + "_layers", 6),
                         positive(fields, "d_model", 512), positive(fields, "nhead", 8),
                         positive(fields, "dim_feedforward", 2048)};
  const NormSpec norm{NormSpec::Kind::kLayer, fields.number("layer_norm_eps", 1e-5)};
  const double dropout = fields.number("dropout", 0.1);
  BlockSpec block =
      plain_block(fields, sizes, activation_of(fields, "activation", "relu"), norm,
                  fields.boolean("norm_first", false), xavier(sizes.width, sizes.width));
  block.feed_forward.initial = block.feed_forward.output_initial =
      xavier(sizes.width, sizes.hidden);
  if (side == "decoder") block.cross_attention = block.self_attention;
  set_dropouts(block, dropout, dropout, dropout);
  return {.blocks = std::vector(static_cast<size_t>(sizes.layers), block),
          .causal = side == "decoder",
          .final_norm = norm};
}

void add_attention_names(NameMap& names, const std::string& ours, const std::string& theirs) {
  const char* parts[] = {"query.", "key.", "value."};
  for (int i = 0; i < 3; ++i)
    names.add(ours + "." + parts[i], theirs + ".in_proj_", {.part = i, .parts = 3});
  names.add(ours + ".output", theirs + ".out_proj");
}

}  // namespace

// The Transformer of "Attention is all you need" as torch.nn.Transformer lays it out, with the
// tables and the output layer that a user of it adds: src_embedding, tgt_embedding, generator.
// Without `src_vocab_size` there are none, as in torch: vectors go in and come out.
Recipe transformer_2017(const ArchitectureConfig& config) {
  const JsonFields& fields = config.fields;
  Recipe recipe{.spec = {}, .names = NameMap("transformer.")};
  TransformerSpec& spec = recipe.spec;
  spec.encoder = stack_of(fields, "encoder");
  spec.decoder = stack_of(fields, "decoder");
  const int64_t width = spec.encoder->width();
  const bool embeds = fields.has("src_vocab_size");
  spec.tokens = {.width = width};
  if (embeds) {
    spec.tokens = {.vocabulary = positive(fields, "src_vocab_size"),
                   .width = width,
                   .scale = std::sqrt(static_cast<double>(width)),
                   .positions = {.kind = PositionSpec::Kind::kSinusoidal},
                   .dropout = fields.number("dropout", 0.1),
                   .initial = normal(1 / std::sqrt(static_cast<double>(width)))};
    if (fields.has("pad_token_id")) spec.tokens->padding = fields.integer("pad_token_id");
  }
  spec.decoder_tokens = spec.tokens;
  if (embeds) {
    spec.decoder_tokens->vocabulary = positive(fields, "tgt_vocab_size", spec.tokens->vocabulary);
    spec.shared_tokens = fields.boolean("share_embeddings", false);
    spec.head = {.kind = HeadSpec::Kind::kLanguageModel,
                 .outputs = spec.decoder_tokens->vocabulary,
                 .bias = fields.boolean("generator_bias", true),
                 .tied = fields.boolean("tie_word_embeddings", false),
                 .initial = xavier(width, spec.decoder_tokens->vocabulary)};
  }
  for (const std::string side : {"encoder", "decoder"}) {
    const std::string ours = side + ".*", theirs = fmt::format("~{}.layers.*", side);
    add_attention_names(recipe.names, ours + ".self_attention", theirs + ".self_attn");
    recipe.names
        .below(ours, theirs,
               {{".feed_forward.up", ".linear1"},
                {".feed_forward.down", ".linear2"},
                {".norm_1", ".norm1"},
                {".norm_2", ".norm2"},
                {".norm_3", ".norm3"}})
        .add(side + ".norm", fmt::format("~{}.norm", side));
  }
  add_attention_names(recipe.names, "decoder.*.cross_attention",
                      "~decoder.layers.*.multihead_attn");
  recipe.names.add("embedding.tokens", "src_embedding")
      .add("decoder_embedding.tokens", "tgt_embedding")
      .add("head.output", "generator");
  return recipe;
}

}  // namespace glassformer
