#pragma once

#include <nlohmann/json.hpp>

#include "glassformer/text/train_tokenizer.h"

namespace glassformer {

// The steps around the model, each as tokenizer.json has it; null where there is none.
struct TokenizerPipeline {
  nlohmann::ordered_json normalizer;
  nlohmann::ordered_json pre_tokenizer;
  nlohmann::ordered_json decoder;
};
TokenizerPipeline make_pipeline(const TokenizerTraining& training);

}  // namespace glassformer
