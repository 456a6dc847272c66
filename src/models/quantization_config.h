#pragma once

#include <optional>

#include "base/json.h"
#include "glassformer/tensor/quantised.h"

namespace glassformer {

// How the matrices of a safetensors folder are quantised: `quantization_config` of config.json.
struct QuantizationConfig {
  QuantScheme scheme = QuantScheme::kInt8;  // or kInt4
  int64_t group = 0;                        // of kInt4
};

// What a quantised matrix's scales are called: its own name and this.
inline constexpr const char* kScaleSuffix = ".scale";

// None where the configuration has none. Throws FileError for one of another engine's (gptq, awq,
// bitsandbytes, ...), which it names, and for a type or group that is not ours.
std::optional<QuantizationConfig> quantization_of(const JsonFields& config);

Json to_json(const QuantizationConfig& quantization);

}  // namespace glassformer
