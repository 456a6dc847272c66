#include <cmath>

#include "base/check.h"
#include "models/families/common.h"

namespace glassformer {
namespace {

struct FeedForwardForm {
  Activation activation;
  bool gated;
};

FeedForwardForm feed_forward_form(const JsonFields& fields) {
  const std::string name = fields.text("feed_forward_proj", "relu");
  if (name == "relu") return {Activation::kRelu, false};
  if (name == "gelu") return {Activation::kGelu, false};
  if (name == "silu") return {Activation::kSilu, false};
  // The gated form was trained with the tanh form of GELU, whatever its name says.
  if (name == "gated-gelu") return {Activation::kGeluTanh, true};
  if (name == "gated-silu") return {Activation::kSilu, true};
  if (name == "gated-relu") return {Activation::kRelu, true};
  throw ValueError(
      fmt::format("{}: field 'feed_forward_proj' must be relu, gelu, silu, gated-gelu, gated-silu "
                  "or gated-relu, found '{}'",
                  fields.where(), name));
}

// Standard deviations as the authors' code starts them (Mesh TensorFlow).
BlockSpec block_of(const JsonFields& fields, const NormSpec& norm) {
  const double factor = fields.number("initializer_factor", 1);
  const int64_t width = positive(fields, "d_model"), hidden = positive(fields, "d_ff");
  const int64_t heads = positive(fields, "num_heads"), size = positive(fields, "d_kv");
  const auto by = [factor](int64_t n) {
    return normal(factor / std::sqrt(static_cast<double>(n)));
  };
  const double dropout = fields.number("dropout_rate", 0.1);
  const FeedForwardForm form = feed_forward_form(fields);
  BlockSpec block;
  block.self_attention = {.width = width,
                          .heads = heads,
                          .key_heads = heads,
                          .head_size = size,
                          .bias = false,
                          .output_bias = false,
                          .scale = 1.0,
                          .initial = by(width),
                          .output_initial = by(heads * size)};
  block.feed_forward = {.width = width,
                        .hidden = hidden,
                        .activation = form.activation,
                        .gated = form.gated,
                        .bias = false,
                        .initial = by(width),
                        .output_initial = by(hidden)};
  block.norm = norm;
  block.pre_norm = true;
  set_dropouts(block, dropout, dropout, dropout);
  return block;
}

void add_names(NameMap& names, const std::string& side, bool gated) {
  const std::string last = side == "encoder" ? "1" : "2";
  const std::string feed_forward = "layer." + last + ".DenseReluDense.";
  names.below(side + ".*.", side + ".block.*.",
              {{"self_attention.query", "layer.0.SelfAttention.q"},
               {"self_attention.key", "layer.0.SelfAttention.k"},
               {"self_attention.value", "layer.0.SelfAttention.v"},
               {"self_attention.output", "layer.0.SelfAttention.o"},
               {"norm_1", "layer.0.layer_norm"},
               {"feed_forward.gate", feed_forward + "wi_0"},
               {"feed_forward.up", feed_forward + (gated ? "wi_1" : "wi")},
               {"feed_forward.down", feed_forward + "wo"}});
  names
      .add(side + ".relative_bias", side + ".block.0.layer.0.SelfAttention.relative_attention_bias")
      .add(side + ".norm", side + ".final_layer_norm");
}

}  // namespace

Recipe t5(const ArchitectureConfig& config) {
  const std::string kind = config.kind("T5", {"Model", "ForConditionalGeneration", "EncoderModel"});
  const JsonFields& fields = config.fields;
  const NormSpec norm{NormSpec::Kind::kRms, fields.number("layer_norm_epsilon", 1e-6)};
  const int64_t layers = layer_count(fields, "num_layers");
  const PositionSpec positions{
      .kind = PositionSpec::Kind::kRelative,
      .num_buckets = positive(fields, "relative_attention_num_buckets", 32),
      .max_distance = positive(fields, "relative_attention_max_distance", 128)};

  Recipe recipe;
  TransformerSpec& spec = recipe.spec;
  BlockSpec block = block_of(fields, norm);
  spec.encoder = {.blocks = std::vector(static_cast<size_t>(layers), block),
                  .positions = positions,
                  .final_norm = norm};
  spec.tokens = {.vocabulary = positive(fields, "vocab_size"),
                 .width = block.self_attention.width,
                 .dropout = fields.number("dropout_rate", 0.1),
                 .initial = normal(fields.number("initializer_factor", 1))};
  recipe.names.add("embedding.tokens", "shared").add("embedding.tokens", "encoder.embed_tokens");
  add_names(recipe.names, "encoder", block.feed_forward.gated);
  recipe.names.add("encoder.*.norm_2", "encoder.block.*.layer.1.layer_norm");
  if (kind == "EncoderModel") return recipe;

  block.cross_attention = block.self_attention;
  const int64_t decoder_layers = layer_count(fields, "num_decoder_layers", layers);
  spec.decoder = {.blocks = std::vector(static_cast<size_t>(decoder_layers), block),
                  .causal = true,
                  .positions = positions,
                  .final_norm = norm};
  spec.decoder_tokens = spec.tokens;
  spec.shared_tokens = true;
  add_names(recipe.names, "decoder", block.feed_forward.gated);
  recipe.names.below("decoder.*.", "decoder.block.*.layer.",
                     {{"cross_attention.query", "1.EncDecAttention.q"},
                      {"cross_attention.key", "1.EncDecAttention.k"},
                      {"cross_attention.value", "1.EncDecAttention.v"},
                      {"cross_attention.output", "1.EncDecAttention.o"},
                      {"norm_2", "1.layer_norm"},
                      {"norm_3", "2.layer_norm"}});
  if (kind == "ForConditionalGeneration") {
    const bool tied = fields.boolean("tie_word_embeddings", true);
    const bool scaled = fields.boolean("scale_decoder_outputs", tied);
    spec.head = {.kind = HeadSpec::Kind::kLanguageModel,
                 .outputs = spec.tokens->vocabulary,
                 .bias = false,
                 .tied = tied,
                 .scale = scaled ? 1 / std::sqrt(static_cast<double>(spec.tokens->width)) : 1,
                 .initial = spec.tokens->initial};
    recipe.names.add("head.output", "lm_head");
  }
  return recipe;
}

}  // namespace glassformer
