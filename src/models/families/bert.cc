#include "models/families/common.h"

namespace glassformer {
namespace {

void set_head(const ArchitectureConfig& config, const std::string& kind, const NormSpec& norm,
              Recipe& recipe) {
  const JsonFields& fields = config.fields;
  HeadSpec& head = recipe.spec.head;
  head.initial = recipe.spec.tokens->initial;
  NameMap& names = recipe.names;
  head.dropout = fields.number("classifier_dropout", fields.number("hidden_dropout_prob", 0.1));
  if (kind == "Model" || kind == "ForSequenceClassification") {
    head.kind = kind == "Model" ? HeadSpec::Kind::kPooler : HeadSpec::Kind::kClassification;
    head.transform = HeadSpec::Transform{Activation::kTanh};
    names.add("head.dense", "~pooler.dense").add("head.output", "classifier");
    if (kind != "Model") head.outputs = config.labels();
  } else if (kind == "ForMaskedLM" || kind == "ForPreTraining") {
    head.kind = HeadSpec::Kind::kLanguageModel;
    head.transform = HeadSpec::Transform{activation_of(fields, "hidden_act", "gelu"), norm};
    head.outputs = recipe.spec.tokens->vocabulary;
    head.tied = fields.boolean("tie_word_embeddings", true);
    head.dropout = 0;
    names.add("head.dense", "cls.predictions.transform.dense")
        .add("head.norm", "cls.predictions.transform.LayerNorm")
        .add("head.output.bias", "cls.predictions.bias")
        .add("head.output", "cls.predictions.decoder");
  } else if (kind == "ForTokenClassification") {
    head.kind = HeadSpec::Kind::kTokens;
    head.outputs = config.labels();
    names.add("head.output", "classifier");
  } else {
    head.kind = HeadSpec::Kind::kQuestion;
    head.outputs = 2;
    head.dropout = 0;
    names.add("head.output", "qa_outputs");
  }
}

}  // namespace

Recipe bert(const ArchitectureConfig& config) {
  const std::string kind =
      config.kind("Bert", {"Model", "ForMaskedLM", "ForPreTraining", "ForSequenceClassification",
                           "ForTokenClassification", "ForQuestionAnswering"});
  const JsonFields& fields = config.fields;
  only_with(fields, "position_embedding_type", "absolute");
  const PlainSizes sizes{layer_count(fields, "num_hidden_layers"), positive(fields, "hidden_size"),
                         positive(fields, "num_attention_heads"),
                         positive(fields, "intermediate_size")};
  const NormSpec norm{NormSpec::Kind::kLayer, fields.number("layer_norm_eps", 1e-12)};
  const Initial initial = normal(fields.number("initializer_range", 0.02));
  const double dropout = fields.number("hidden_dropout_prob", 0.1);
  BlockSpec block =
      plain_block(fields, sizes, activation_of(fields, "hidden_act", "gelu"), norm, false, initial);
  set_dropouts(block, fields.number("attention_probs_dropout_prob", 0.1), 0, dropout);

  Recipe recipe{.spec = {}, .names = NameMap("bert.")};
  recipe.spec.encoder = {.blocks = std::vector(static_cast<size_t>(sizes.layers), block)};
  recipe.spec.tokens = {
      .vocabulary = positive(fields, "vocab_size"),
      .width = sizes.width,
      .types = positive(fields, "type_vocab_size", 2),
      .padding = fields.integer("pad_token_id", 0),
      .positions = {.kind = PositionSpec::Kind::kLearned,
                    .max_positions = positive(fields, "max_position_embeddings", 512)},
      .norm = norm,
      .dropout = dropout,
      .initial = initial};
  recipe.names
      .below("embedding.", "~embeddings.",
             {{"tokens", "word_embeddings"},
              {"types", "token_type_embeddings"},
              {"positions", "position_embeddings"},
              {"norm", "LayerNorm"}})
      .below("encoder.*.", "~encoder.layer.*.",
             {{"self_attention.query", "attention.self.query"},
              {"self_attention.key", "attention.self.key"},
              {"self_attention.value", "attention.self.value"},
              {"self_attention.output", "attention.output.dense"},
              {"norm_1", "attention.output.LayerNorm"},
              {"feed_forward.up", "intermediate.dense"},
              {"feed_forward.down", "output.dense"},
              {"norm_2", "output.LayerNorm"}});
  set_head(config, kind, norm, recipe);
  return recipe;
}

}  // namespace glassformer
