#include "base/check.h"
#include "models/families/common.h"

namespace glassformer {
namespace {

struct Size {
  int64_t height, width;
};

// A number, or [height, width].
Size size_of(const JsonFields& fields, std::string_view name, int64_t otherwise) {
  if (const Json* field = fields.find(name); field == nullptr || !field->is_array()) {
    const int64_t side = positive(fields, name, otherwise);
    return {side, side};
  }
  const std::vector<int64_t> sides = fields.integers(name);
  constexpr int64_t kMost = 1 << 20;
  const auto fits = [](int64_t side) { return side >= 1 && side <= kMost; };
  if (sides.size() != 2 || !fits(sides[0]) || !fits(sides[1]))
    fields.fail(name, "a positive number or [height, width]");
  return {sides[0], sides[1]};
}

ImageEmbeddingSpec image_of(const JsonFields& fields, int64_t width, Initial initial) {
  const Size image = size_of(fields, "image_size", 224), patch = size_of(fields, "patch_size", 16);
  require<ValueError>(image.height % patch.height == 0 && image.width % patch.width == 0,
                      "{}: patches of {}x{} do not divide a picture of {}x{}", fields.where(),
                      patch.height, patch.width, image.height, image.width);
  return {.channels = positive(fields, "num_channels", 3),
          .height = image.height,
          .width = image.width,
          .patch_height = patch.height,
          .patch_width = patch.width,
          .size = width,
          .dropout = fields.number("hidden_dropout_prob", 0),
          .initial = initial};
}

}  // namespace

Recipe vit_like(const ArchitectureConfig& config, const std::string& prefix) {
  const JsonFields& fields = config.fields;
  const PlainSizes sizes{layer_count(fields, "num_hidden_layers"), positive(fields, "hidden_size"),
                         positive(fields, "num_attention_heads"),
                         positive(fields, "intermediate_size")};
  const NormSpec norm{NormSpec::Kind::kLayer, fields.number("layer_norm_eps", 1e-12)};
  const Initial initial = normal(fields.number("initializer_range", 0.02));
  BlockSpec block =
      plain_block(fields, sizes, activation_of(fields, "hidden_act", "gelu"), norm, true, initial);
  block.self_attention.bias = fields.boolean("qkv_bias", true);
  set_dropouts(block, fields.number("attention_probs_dropout_prob", 0), 0,
               fields.number("hidden_dropout_prob", 0));

  Recipe recipe{.spec = {}, .names = NameMap(prefix)};
  recipe.spec.encoder = {.blocks = std::vector(static_cast<size_t>(sizes.layers), block),
                         .final_norm = norm};
  recipe.spec.image = image_of(fields, sizes.width, initial);
  recipe.spec.head.initial = initial;
  recipe.names
      .below("embedding.", "~embeddings.",
             {{"patches", "patch_embeddings.projection"},
              {"class_token", "cls_token"},
              {"distillation_token", "distillation_token"},
              {"positions", "position_embeddings"}})
      .below("encoder.*.", "~encoder.layer.*.",
             {{"norm_1", "layernorm_before"},
              {"self_attention.query", "attention.attention.query"},
              {"self_attention.key", "attention.attention.key"},
              {"self_attention.value", "attention.attention.value"},
              {"self_attention.output", "attention.output.dense"},
              {"norm_2", "layernorm_after"},
              {"feed_forward.up", "intermediate.dense"},
              {"feed_forward.down", "output.dense"}})
      // As transformers 5 names them in memory.
      .below("encoder.*.", "~layers.*.",
             {{"norm_1", "layernorm_before"},
              {"self_attention.query", "attention.q_proj"},
              {"self_attention.key", "attention.k_proj"},
              {"self_attention.value", "attention.v_proj"},
              {"self_attention.output", "attention.o_proj"},
              {"norm_2", "layernorm_after"},
              {"feed_forward.up", "mlp.fc1"},
              {"feed_forward.down", "mlp.fc2"}})
      .add("encoder.norm", "~layernorm")
      .add("head.dense", "~pooler.dense");
  return recipe;
}

Recipe vit(const ArchitectureConfig& config) {
  const std::string kind = config.kind("ViT", {"Model", "ForImageClassification"});
  Recipe recipe = vit_like(config, "vit.");
  HeadSpec& head = recipe.spec.head;
  if (kind == "Model") {
    head.kind = HeadSpec::Kind::kPooler;
    head.transform = HeadSpec::Transform{activation_of(config.fields, "pooler_act", "tanh")};
  } else {
    head.kind = HeadSpec::Kind::kClassification;
    head.outputs = config.labels();
    recipe.names.add("head.output", "classifier");
  }
  return recipe;
}

// ViT with a second learned token, which was taught by another model.
Recipe deit(const ArchitectureConfig& config) {
  const std::string kind =
      config.kind("DeiT", {"Model", "ForImageClassification", "ForImageClassificationWithTeacher"});
  Recipe recipe = vit_like(config, "deit.");
  recipe.spec.image->distillation_token = true;
  HeadSpec& head = recipe.spec.head;
  if (kind == "Model") {
    head.kind = HeadSpec::Kind::kPooler;
    head.transform = HeadSpec::Transform{activation_of(config.fields, "pooler_act", "tanh")};
    return recipe;
  }
  head.kind = HeadSpec::Kind::kClassification;
  head.outputs = config.labels();
  head.distillation = kind == "ForImageClassificationWithTeacher";
  recipe.names.add("head.output", head.distillation ? "cls_classifier" : "classifier")
      .add("head.distillation", "distillation_classifier");
  return recipe;
}

}  // namespace glassformer
