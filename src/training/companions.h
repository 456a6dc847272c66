#pragma once

#include "training/model_setup.h"

namespace glassformer {

// Writes beside a trained model what its users need besides weights and tokenizer:
// generation_config.json, preprocessor_config.json, or the modules of a sentence encoder.
void write_companions(const TrainConfig& config, const ModelSetup& setup);

}  // namespace glassformer
