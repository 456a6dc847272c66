#include "models/families/common.h"

namespace glassformer {

Recipe bart(const ArchitectureConfig& config) {
  const std::string kind = config.kind("Bart", {"Model", "ForConditionalGeneration"});
  const JsonFields& fields = config.fields;
  Recipe recipe = fairseq_like(config);
  TransformerSpec& spec = recipe.spec;
  // The table has two rows more than there are positions; the first two are not used.
  const PositionSpec positions{.kind = PositionSpec::Kind::kLearned,
                               .max_positions = positive(fields, "max_position_embeddings") + 2,
                               .first_row = 2};
  for (auto* tokens : {&*spec.tokens, &*spec.decoder_tokens}) {
    tokens->positions = positions;
    tokens->norm = NormSpec{NormSpec::Kind::kLayer, 1e-5};
  }
  recipe.names.add("embedding.tokens", "~shared").add("embedding.tokens", "~encoder.embed_tokens");
  if (kind == "ForConditionalGeneration")
    spec.head = {.kind = HeadSpec::Kind::kLanguageModel,
                 .outputs = spec.tokens->vocabulary,
                 .tied = fields.boolean("tie_word_embeddings", true),
                 .fixed_bias = true,
                 .initial = spec.tokens->initial};
  return recipe;
}

}  // namespace glassformer
