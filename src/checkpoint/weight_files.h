#pragma once

namespace glassformer {

// What Hugging Face calls the files of a model's weights.
inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kWeightsIndex = "model.safetensors.index.json";

}  // namespace glassformer
