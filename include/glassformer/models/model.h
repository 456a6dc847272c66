#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  // What quantised weights are multiplied with: the numbers as they are, or these quantised too (in
  // groups of 32, see PackedWeight), which is faster. docs/quantisation.md has what that costs.
  enum class Activations : uint8_t { kFloat, kInt8 };

  Purpose purpose = Purpose::kInference;
  std::optional<DType> dtype = DType::kFloat32;  // none: that of the file
  Device device = Device::kCpu;
  Activations activations = Activations::kInt8;
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

  // Writes config.json and the weights, as `from_pretrained` opens them (quantised ones: as open()
  // does). Killed at any instant, the folder opens with all of the old weights or all of the new
  // ones. Throws UnsupportedError for a model that was opened from quantised weights.
  void save(const std::filesystem::path& folder, const SaveOptions& options = {}) const;

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
  std::shared_ptr<const Content> content_;
};

}  // namespace glassformer
