#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/models/lora.h"

namespace glassformer {

// What PEFT's adapter_config.json says of a LoRA adapter. Throws FileError for fields that are
// wrong, UnsupportedError, with the field, for an adapter of another kind.
LoraOptions adapter_options(const JsonFields& fields);

// A folder that PEFT has saved a LoRA adapter in. Its tensors are named as the modules of the model
// are, without the "base_model.model." that PEFT puts before them.
class AdapterFile : public StoredTensors {
 public:
  // Throws FileError for a folder that is none, and what adapter_options() throws.
  explicit AdapterFile(const std::filesystem::path& folder);

  const LoraOptions& options() const { return options_; }
  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  const StoredTensor* find(std::string_view name) const override;
  const std::string& where() const override { return file_.where(); }
  Tensor get(std::string_view name) const override;
  // Throws FileError, with the name, unless every tensor was asked for.
  void check_all_used() const;

 private:
  LoraOptions options_;
  SafetensorsFile file_;
  std::vector<StoredTensor> tensors_;
  mutable std::set<std::string, std::less<>> used_;
};

// Writes such a folder; the tensors are named as above. `fan_in_fan_out`: the targets are stored
// the other way round, as GPT-2's are.
struct AdapterConfig {
  LoraOptions options;
  std::string base;  // where the model came from
  bool fan_in_fan_out = false;
};
void save_adapter_file(const std::filesystem::path& folder, const AdapterConfig& config,
                       std::vector<std::pair<std::string, Tensor>> tensors);

}  // namespace glassformer
