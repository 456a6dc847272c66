#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "glassformer/nn/context.h"
#include "glassformer/nn/linear.h"

namespace glassformer {

// What stands below the Transformer: linear layers with an activation between them. With no hidden
// layer it is the perceptron.
struct MlpSpec {
  int64_t inputs = 0;
  std::vector<int64_t> hidden = {};
  int64_t outputs = 0;
  Activation activation = Activation::kRelu;
};

// Weights `layers.N.{weight, bias}`; steps: `layers.N` (with its activation), and `logits`.
class Mlp {
 public:
  // Throws ValueError for sizes that are not positive.
  Mlp(const MlpSpec& spec, WeightSource& source);

  // A folder with config.json ({"model_type": "mlp", "inputs", "hidden", "outputs", "activation"})
  // and model.safetensors, and the same written. Throws FileError.
  static Mlp open(const std::filesystem::path& folder, bool trainable = false);
  static MlpSpec spec_of(const std::string& config_json, const std::string& where);
  void save(const std::filesystem::path& folder) const;

  // x: [..., inputs] → [..., outputs].
  Tensor operator()(const Tensor& x, const Context& context = {}) const;

  const MlpSpec& spec() const { return spec_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }

 private:
  MlpSpec spec_;
  std::vector<Parameter> parameters_;
  std::vector<Linear> layers_;
};

}  // namespace glassformer
