#pragma once

#include "models/recipe.h"

namespace glassformer {

// The activation of a configuration's field. Throws ValueError for one that is not built in.
Activation activation_of(const JsonFields& config, std::string_view field,
                         std::string_view otherwise);

// A positive whole number. Throws ValueError.
int64_t positive(const JsonFields& config, std::string_view field);
int64_t positive(const JsonFields& config, std::string_view field, int64_t otherwise);
// Up to 10,000 of them: a layer takes memory before any file is read.
int64_t layer_count(const JsonFields& config, std::string_view field);
int64_t layer_count(const JsonFields& config, std::string_view field, int64_t otherwise);
// width / heads. Throws ValueError unless it divides.
int64_t head_size_of(const JsonFields& config, int64_t width, int64_t heads);

// Refuses a value of `field` other than `only`, which is also the default.
void only_with(const JsonFields& config, std::string_view field, std::string_view only);

inline Initial normal(double deviation) { return {Initial::Kind::kNormal, deviation}; }

// The sizes that an encoder or decoder of the 2017 kind is made of.
struct PlainSizes {
  int64_t layers = 0, width = 0, heads = 0, hidden = 0;
};
// A block whose heads share the width, with biases everywhere.
BlockSpec plain_block(const JsonFields& config, const PlainSizes& sizes, Activation activation,
                      const NormSpec& norm, bool pre_norm, Initial initial);
void set_dropouts(BlockSpec& block, double attention, double hidden, double output);

// The rules of rotary positions: `rope_parameters` (new) or `rope_theta` and `rope_scaling` (old).
PositionSpec rotary_positions(const JsonFields& config, int64_t head_size);

// Llama and those that follow it, before what is their own. `head_size`: unless the configuration
// says it; 0 shares the width among the heads.
Recipe llama_like(const ArchitectureConfig& config, const std::string& family,
                  int64_t head_size = 0);

// Encoder–decoders with fairseq's names (Marian, BART), before positions and heads.
Recipe fairseq_like(const ArchitectureConfig& config);

// A picture's encoder with ViT's names below `prefix`.
Recipe vit_like(const ArchitectureConfig& config, const std::string& prefix);

}  // namespace glassformer
