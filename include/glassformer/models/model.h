#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "glassformer/models/lora.h"
#include "glassformer/models/transformer.h"

namespace glassformer {

class StoredTensors;
struct Recipe;

// What a configuration says besides the shape of the model.
struct ModelConfig {
  std::string json;                 // config.json as it came
  std::string model_type;           // "bert", "llama", ...
  std::string architecture;         // "BertForMaskedLM", ...
  std::vector<std::string> labels;  // of a classifier, in the order of its outputs
  std::optional<int64_t> padding, begin, decoder_start;
  std::vector<int64_t> end;   // one or several end-of-sequence ids
  int64_t max_positions = 0;  // 0 where there is no limit
};

struct LoadOptions {
  enum class Purpose : uint8_t {
    kInference,  // weights also in the form that multiplies fastest
    kTraining,   // weights of its own that ask for gradients
    kReading     // weights where they lie in the file: opens at once, runs slower
  };
  // What quantised weights are multiplied with: the numbers as they are, or these quantised too
  // (see PackedWeight), which is faster. docs/quantisation.md has what that costs.
  enum class Activations : uint8_t { kFloat, kInt8 };

  Purpose purpose = Purpose::kInference;
  std::optional<DType> dtype = DType::kFloat32;  // none: that of the file
  Device device = Device::kCpu;
  Activations activations = Activations::kInt8;
  // With kTraining: the weights stay as they are, and what this says is trained in their place.
  std::optional<LoraOptions> lora = {};
  // A folder that PEFT, or save_adapter(), has saved a LoRA adapter of this model in. With
  // kTraining its training goes on; otherwise it is merged with the weights. docs/fine-tuning.md.
  std::filesystem::path adapter = {};

  // Fine-tuning for another task. Fields of config.json to set or (with null) to remove, as JSON:
  // {"architectures": ["BertForSequenceClassification"], "num_labels": 2}.
  std::string config_changes = {};
  // Weights of the head that the file does not have are started with this seed; without one they
  // are an error.
  std::optional<uint64_t> new_head = {};
};

using SaveProgress = std::function<void(size_t done, size_t total)>;  // in tensors

struct SaveOptions {
  std::optional<DType> dtype = {};         // of floating tensors; none: as they are
  std::optional<QuantScheme> scheme = {};  // kInt8 or kInt4: of matrices; docs/quantisation.md
  int64_t group = 32;                      // of kInt4: weights that share a scale
  SaveProgress progress = {};
};

// A Transformer together with its configuration and the names its family gives its weights.
class Model {
 public:
  // A folder as Hugging Face lays it out, or a .gguf file. Nothing in it is executed. Throws
  // FileError or ValueError, naming the file and the field or tensor, for one that does not fit.
  static Model open(const std::filesystem::path& path, const LoadOptions& options = {});

  // A new model of this configuration (the text of a config.json), started for training as its
  // paper says.
  static Model create(const std::string& config_json, uint64_t seed, TensorOptions options = {});

  // A copy with weights of its own, of another type where one is given, that ask for gradients
  // where `trainable`: all of them, or those that the model's adapter trains. Throws
  // UnsupportedError for quantised weights.
  Model copy(std::optional<DType> dtype = {}, bool trainable = false) const;

  // Writes config.json and the weights, as `from_pretrained` opens them (quantised ones: as open()
  // does). Killed at any instant, the folder opens with all of the old weights or all of the new
  // ones. Codes of a folder's quantised weights are written as they are; a model that was opened
  // from a GGUF file is written as a folder; an adapter is merged with the weights. Throws
  // UnsupportedError where quantised weights would have to be in another type, and for GGUF's own.
  void save(const std::filesystem::path& folder, const SaveOptions& options = {}) const;
  // Writes what LoadOptions::lora or ::adapter let train, as a folder that PEFT opens. Throws
  // ValueError for a model that was opened without.
  void save_adapter(const std::filesystem::path& folder) const;

  bool has_adapter() const;

  TransformerOutput operator()(const TransformerInput& input, const Context& context = {}) const {
    return transformer()(input, context);
  }
  const Transformer& transformer() const;
  const ModelConfig& config() const;
  // What its file calls the weight that we call `name`.
  std::string stored_name(const std::string& name) const;

 private:
  struct Content;
  explicit Model(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  static Model load(const std::string& config_text, const std::string& where, Recipe recipe,
                    const StoredTensors& stored, const LoadOptions& options);
  static void build(Content& content, const TransformerSpec& spec, WeightSource& weights,
                    const LoadOptions& options);
  std::shared_ptr<const Content> content_;
};

}  // namespace glassformer
