#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glassformer/models/model.h"

namespace glassformer {

// What a model is made of.
struct Anatomy {
  struct Part {
    std::string name;  // "embedding", "encoder.3.self_attention", "head", ...
    int64_t parameters = 0, bytes = 0;
  };
  struct Weight {
    std::string name, stored_name;
    Shape shape;
    std::string type;  // "float32", "int4", "Q4_K", ...
    int64_t bytes = 0;
  };
  std::vector<Part> parts;
  std::vector<Weight> weights;
  int64_t parameters = 0, bytes = 0;
  // Multiplications and additions for one token in one stack: by its weights, and for every key
  // that it attends to. For an encoder–decoder, those of the decoder are separate.
  struct Cost {
    std::string stack;
    int64_t per_token = 0, per_token_and_key = 0;
  };
  std::vector<Cost> costs;
};

Anatomy anatomy_of(const Model& model);

// The model in words, a line each: "encoder: 12 layers, width 768, 12 heads of 64, ...".
std::vector<std::string> description_of(const TransformerSpec& spec);

}  // namespace glassformer
