#include "models/quantization_config.h"

#include "base/check.h"

namespace glassformer {
namespace {

constexpr const char* kField = "quantization_config";
constexpr const char* kMethod = "glassformer";

}  // namespace

std::optional<QuantizationConfig> quantization_of(const JsonFields& config) {
  if (!config.has(kField)) return std::nullopt;
  const JsonFields fields = config.object(kField);
  const std::string method = fields.text("quant_method");
  require<FileError>(method == kMethod,
                     "{}: weights quantised by '{}' are not read; of quantised folders those that "
                     "`glassformer quantize` writes are, and GGUF files",
                     config.where(), method);
  const std::string type = fields.text("type");
  QuantizationConfig quantization;
  require<FileError>(type == "int8" || type == "int4",
                     "{}: {}.type must be int8 or int4, found '{}'", config.where(), kField, type);
  quantization.scheme = *quant_scheme_from_name(type);
  if (type == "int4") {
    quantization.group = fields.integer("group_size");
    require<FileError>(quantization.group > 0 && quantization.group % 32 == 0,
                       "{}: {}.group_size must be a multiple of 32, found {}", config.where(),
                       kField, quantization.group);
  }
  return quantization;
}

Json to_json(const QuantizationConfig& quantization) {
  Json json{{"quant_method", kMethod}, {"type", name_of(quantization.scheme)}};
  if (quantization.scheme == QuantScheme::kInt4) json["group_size"] = quantization.group;
  return json;
}

}  // namespace glassformer
