#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/adapter_file.h"
#include "models/loaded_weights.h"

namespace glassformer {

// What is trained of a model besides, or in place of, its weights.
struct Adapter {
  LoraOptions options;
  std::map<std::string, LowRank> pairs;  // by our name of the matrix
  std::set<std::string> trained;         // our names of the weights that are trained as a whole
};

// weight + scale · b · a, in float32 at least.
Tensor merged(const Tensor& weight, const LowRank& pair);
// The parameters of a model without the pairs, which its weights take in.
std::vector<Parameter> merged(const std::vector<Parameter>& parameters, const Adapter& adapter);

// The weights of a model with an adapter: for training, those of the model as they are with pairs
// beside them, or one weight in place of both.
class AdaptedWeights : public WeightSource {
 public:
  enum class Form : uint8_t { kPairs, kMerged };
  // `modules` gives Hugging Face's names; without a `file` the pairs start anew. All must outlive
  // this. Throws ValueError for options outside their domain.
  AdaptedWeights(WeightSource& base, const NameMap& modules, const AdapterFile* file,
                 LoraOptions options, WeightOptions weights, Form form);

  bool contains(const std::string& name) const override;
  Tensor get(const std::string& name, const Shape& shape, const Initial& initial) override;
  WeightMatrix matrix(const std::string& name, const Shape& shape, const Initial& initial) override;
  LowRank low_rank(const std::string& name, const Shape& shape) override;

  // What it was, once the model is built. Throws ValueError for targets that no layer has,
  // FileError for tensors of the file that none has.
  Adapter take();

 private:
  bool is_trained(const std::string& name) const;
  bool is_target(const std::string& name);
  // A matrix of the pair of `module`, which is Hugging Face's name.
  Tensor half(const std::string& module, const char* which, const Shape& shape, double start) const;
  LowRank pair_of(const std::string& name, const Shape& shape);

  WeightSource& base_;
  const NameMap& modules_;
  const AdapterFile* file_;
  WeightOptions weights_;
  Form form_;
  std::optional<LoadedWeights> saved_;  // of the file: what was trained as a whole
  Adapter adapter_;
  std::map<std::string, Tensor> shared_;  // the a of modules that are several matrices of ours
  std::set<std::string> met_;             // targets and modules that a layer has
  std::set<std::string> layers_;          // that could have been one, for messages
};

// Writes a folder that PEFT opens. `base` is where the model came from.
void save_adapter(const std::filesystem::path& folder, const Adapter& adapter,
                  const NameMap& modules, const std::string& base,
                  const std::vector<Parameter>& parameters);

}  // namespace glassformer
