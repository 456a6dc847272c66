#include "models/families/common.h"

namespace glassformer {
namespace {

void set_head(const ArchitectureConfig& config, const std::string& kind, const NormSpec& norm,
              Recipe& recipe) {
  const JsonFields& fields = config.fields;
  HeadSpec& head = recipe.spec.head;
  head.initial = recipe.spec.tokens->initial;
  if (kind == "ForMaskedLM") {
    head.kind = HeadSpec::Kind::kLanguageModel;
    head.transform = HeadSpec::Transform{activation_of(fields, "activation", "gelu"), norm};
    head.outputs = recipe.spec.tokens->vocabulary;
    head.tied = fields.boolean("tie_word_embeddings", true);
    recipe.names.add("head.dense", "vocab_transform")
        .add("head.norm", "vocab_layer_norm")
        .add("head.output", "vocab_projector");
  } else if (kind == "ForSequenceClassification") {
    head.kind = HeadSpec::Kind::kClassification;
    head.transform = HeadSpec::Transform{Activation::kRelu};
    head.outputs = config.labels();
    head.dropout = fields.number("seq_classif_dropout", 0.2);
    recipe.names.add("head.dense", "pre_classifier").add("head.output", "classifier");
  } else if (kind == "ForTokenClassification") {
    head.kind = HeadSpec::Kind::kTokens;
    head.outputs = config.labels();
    head.dropout = fields.number("dropout", 0.1);
    recipe.names.add("head.output", "classifier");
  } else if (kind == "ForQuestionAnswering") {
    head.kind = HeadSpec::Kind::kQuestion;
    head.outputs = 2;
    head.dropout = fields.number("qa_dropout", 0.1);
    recipe.names.add("head.output", "qa_outputs");
  }
}

}  // namespace

Recipe distilbert(const ArchitectureConfig& config) {
  const std::string kind =
      config.kind("DistilBert", {"Model", "ForMaskedLM", "ForSequenceClassification",
                                 "ForTokenClassification", "ForQuestionAnswering"});
  const JsonFields& fields = config.fields;
  const PlainSizes sizes{layer_count(fields, "n_layers"), positive(fields, "dim"),
                         positive(fields, "n_heads"), positive(fields, "hidden_dim")};
  const NormSpec norm{NormSpec::Kind::kLayer, 1e-12};
  const Initial initial = normal(fields.number("initializer_range", 0.02));
  const double dropout = fields.number("dropout", 0.1);
  BlockSpec block =
      plain_block(fields, sizes, activation_of(fields, "activation", "gelu"), norm, false, initial);
  set_dropouts(block, fields.number("attention_dropout", 0.1), 0, dropout);
  block.self_attention.output_dropout = 0;

  Recipe recipe{.spec = {}, .names = NameMap("distilbert.")};
  recipe.spec.encoder = {.blocks = std::vector(static_cast<size_t>(sizes.layers), block)};
  recipe.spec.tokens = {
      .vocabulary = positive(fields, "vocab_size"),
      .width = sizes.width,
      .padding = fields.integer("pad_token_id", 0),
      .positions = {.kind = PositionSpec::Kind::kLearned,
                    .max_positions = positive(fields, "max_position_embeddings", 512)},
      .norm = norm,
      .dropout = dropout,
      .initial = initial};
  recipe.names
      .below("embedding.", "~embeddings.",
             {{"tokens", "word_embeddings"},
              {"positions", "position_embeddings"},
              {"norm", "LayerNorm"}})
      .below("encoder.*.", "~transformer.layer.*.",
             {{"self_attention.query", "attention.q_lin"},
              {"self_attention.key", "attention.k_lin"},
              {"self_attention.value", "attention.v_lin"},
              {"self_attention.output", "attention.out_lin"},
              {"norm_1", "sa_layer_norm"},
              {"feed_forward.up", "ffn.lin1"},
              {"feed_forward.down", "ffn.lin2"},
              {"norm_2", "output_layer_norm"}});
  set_head(config, kind, norm, recipe);
  return recipe;
}

}  // namespace glassformer
