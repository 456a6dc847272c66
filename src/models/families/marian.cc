#include "models/families/common.h"

namespace glassformer {

Recipe marian(const ArchitectureConfig& config) {
  const std::string kind = config.kind("Marian", {"Model", "MTModel"});
  const JsonFields& fields = config.fields;
  Recipe recipe = fairseq_like(config);
  TransformerSpec& spec = recipe.spec;
  const PositionSpec positions{.kind = PositionSpec::Kind::kSinusoidal,
                               .sinusoidal = SinusoidalOptions::Layout::kHalfSplit};
  spec.tokens->positions = spec.decoder_tokens->positions = positions;
  spec.shared_tokens = fields.boolean("share_encoder_decoder_embeddings", true);
  spec.decoder_tokens->vocabulary = positive(fields, "decoder_vocab_size", spec.tokens->vocabulary);
  if (spec.shared_tokens) recipe.names.add("embedding.tokens", "~shared");
  recipe.names.add("embedding.tokens", "~encoder.embed_tokens");
  if (kind == "MTModel")
    spec.head = {.kind = HeadSpec::Kind::kLanguageModel,
                 .outputs = spec.decoder_tokens->vocabulary,
                 .tied = fields.boolean("tie_word_embeddings", true),
                 .fixed_bias = true,
                 .initial = spec.tokens->initial};
  return recipe;
}

}  // namespace glassformer
