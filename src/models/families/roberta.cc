#include "base/check.h"
#include "models/families/common.h"

namespace glassformer {

// BERT with another numbering of positions and other heads.
Recipe roberta(const ArchitectureConfig& config) {
  std::string family = "Roberta";
  for (const char* name : {"XLMRoberta", "Camembert"})
    if (config.architecture.starts_with(name)) family = name;
  const std::string kind = config.kind(family, {"Model", "ForMaskedLM", "ForSequenceClassification",
                                                "ForTokenClassification", "ForQuestionAnswering"});
  ArchitectureConfig as_bert = config;
  as_bert.architecture = "Bert" + kind;
  const Recipe base = bert(as_bert);

  Recipe recipe{.spec = base.spec, .names = NameMap("roberta.")};
  TokenEmbeddingSpec& tokens = *recipe.spec.tokens;
  tokens.padding = config.fields.integer("pad_token_id", 1);
  tokens.positions.first_row = *tokens.padding + 1;
  tokens.positions.skip_padding = true;
  require<ValueError>(tokens.positions.max_positions > tokens.positions.first_row,
                      "{}: expected more than {} max_position_embeddings, found {}",
                      config.fields.where(), tokens.positions.first_row,
                      tokens.positions.max_positions);
  if (kind == "ForMaskedLM") {
    recipe.spec.head.transform->activation = Activation::kGelu;
    recipe.names.below("head.", "lm_head.",
                       {{"dense", "dense"},
                        {"norm", "layer_norm"},
                        {"output.bias", "bias"},
                        {"output", "decoder"}});
  } else if (kind == "ForSequenceClassification") {
    recipe.names.add("head.dense", "classifier.dense").add("head.output", "classifier.out_proj");
  } else {
    recipe.names.add("head.dense", "~pooler.dense")
        .add("head.output", kind == "ForQuestionAnswering" ? "qa_outputs" : "classifier");
  }
  recipe.names.append_base(base.names);
  return recipe;
}

}  // namespace glassformer
