#include "models/families/common.h"

#include <array>
#include <utility>

#include "base/check.h"

namespace glassformer {

Activation activation_of(const JsonFields& config, std::string_view field,
                         std::string_view otherwise) {
  static constexpr std::array<std::pair<std::string_view, Activation>, 14> kNames{{
      {"relu", Activation::kRelu},
      {"gelu", Activation::kGelu},
      {"gelu_python", Activation::kGelu},
      {"gelu_new", Activation::kGeluTanh},
      {"gelu_tanh", Activation::kGeluTanh},
      {"gelu_fast", Activation::kGeluTanh},
      {"gelu_accurate", Activation::kGeluTanh},
      {"gelu_pytorch_tanh", Activation::kGeluTanh},
      {"silu", Activation::kSilu},
      {"swish", Activation::kSilu},
      {"sigmoid", Activation::kSigmoid},
      {"tanh", Activation::kTanh},
      {"linear", Activation::kNone},
      {"none", Activation::kNone},
  }};
  const std::string name = config.text(field, otherwise);
  for (const auto& [known, activation] : kNames)
    if (name == known) return activation;
  throw ValueError(
      fmt::format("{}: field '{}' must be relu, gelu, gelu_new, silu, sigmoid or tanh, found '{}'",
                  config.where(), field, name));
}

int64_t positive(const JsonFields& config, std::string_view field) {
  const int64_t value = config.integer(field);
  // No model is near this; beyond it, products of sizes could overflow.
  constexpr int64_t kMost = int64_t{1} << 30;
  require<ValueError>(value >= 1 && value <= kMost, "{}: field '{}' must be from 1 to {}, found {}",
                      config.where(), field, kMost, value);
  return value;
}

int64_t positive(const JsonFields& config, std::string_view field, int64_t otherwise) {
  return config.has(field) ? positive(config, field) : otherwise;
}

int64_t layer_count(const JsonFields& config, std::string_view field) {
  constexpr int64_t kMost = 10000;
  const int64_t value = positive(config, field);
  require<ValueError>(value <= kMost, "{}: field '{}' must be from 1 to {}, found {}",
                      config.where(), field, kMost, value);
  return value;
}

int64_t layer_count(const JsonFields& config, std::string_view field, int64_t otherwise) {
  return config.has(field) ? layer_count(config, field) : otherwise;
}

int64_t head_size_of(const JsonFields& config, int64_t width, int64_t heads) {
  require<ValueError>(width % heads == 0, "{}: {} heads do not divide a width of {}",
                      config.where(), heads, width);
  return width / heads;
}

void only_with(const JsonFields& config, std::string_view field, std::string_view only) {
  const std::string found = config.text(field, only);
  require<ValueError>(found == only, "{}: field '{}' must be '{}', found '{}'", config.where(),
                      field, only, found);
}

BlockSpec plain_block(const JsonFields& config, const PlainSizes& sizes, Activation activation,
                      const NormSpec& norm, bool pre_norm, Initial initial) {
  BlockSpec block;
  block.self_attention = {.width = sizes.width,
                          .heads = sizes.heads,
                          .key_heads = sizes.heads,
                          .head_size = head_size_of(config, sizes.width, sizes.heads),
                          .initial = initial,
                          .output_initial = initial};
  block.feed_forward = {.width = sizes.width,
                        .hidden = sizes.hidden,
                        .activation = activation,
                        .initial = initial,
                        .output_initial = initial};
  block.norm = norm;
  block.pre_norm = pre_norm;
  return block;
}

void set_dropouts(BlockSpec& block, double attention, double hidden, double output) {
  block.self_attention.dropout = attention;
  block.self_attention.output_dropout = output;
  if (block.cross_attention) {
    block.cross_attention->dropout = attention;
    block.cross_attention->output_dropout = output;
  }
  block.feed_forward.dropout = hidden;
  block.feed_forward.output_dropout = output;
}

}  // namespace glassformer
