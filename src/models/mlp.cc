#include "glassformer/models/mlp.h"

#include <cmath>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/json.h"
#include "glassformer/checkpoint/weights.h"
#include "glassformer/ops/copy.h"
#include "models/families/common.h"

namespace glassformer {
namespace {

constexpr const char* kConfig = "config.json";
constexpr int64_t kMaxWidth = 1 << 24;

class StoredWeights : public WeightSource {
 public:
  StoredWeights(const StoredTensors& stored, bool trainable)
      : stored_(stored), trainable_(trainable) {}
  bool contains(const std::string& name) const override { return stored_.find(name) != nullptr; }
  Tensor get(const std::string& name, const Shape& shape, const Initial& /*initial*/) override {
    const Tensor value = cast(stored_.get(name), DType::kFloat32);
    require<FileError>(value.shape() == shape, "{}: expected tensor '{}' of shape {}, found {}",
                       stored_.where(), name, shape.str(), value.shape().str());
    return clone(value).set_requires_grad(trainable_);
  }

 private:
  const StoredTensors& stored_;
  bool trainable_;
};

void check_width(int64_t width) {
  require<ValueError>(width >= 1 && width <= kMaxWidth,
                      "mlp: expected layers of 1 to {} units, found {}", kMaxWidth, width);
}

}  // namespace

Mlp::Mlp(const MlpSpec& spec, WeightSource& source) : spec_(spec) {
  check_width(spec.inputs);
  check_width(spec.outputs);
  const Weights weights(source, parameters_, false);
  std::vector<int64_t> widths = spec.hidden;
  widths.push_back(spec.outputs);
  int64_t in = spec.inputs;
  for (size_t i = 0; i < widths.size(); ++i) {
    check_width(widths[i]);
    // Uniform within ±1/√in, as PyTorch starts a linear layer.
    const Initial initial{Initial::Kind::kUniform, 1 / std::sqrt(static_cast<double>(in))};
    layers_.emplace_back(weights / "layers" / std::to_string(i),
                         LinearSpec{in, widths[i], true, initial});
    in = widths[i];
  }
}

MlpSpec Mlp::spec_of(const std::string& config_json, const std::string& where) {
  const Json json = parse_json(config_json, where);
  const JsonFields fields(json, where);
  if (fields.text("model_type") != "mlp") fields.fail("model_type", "'mlp'");
  MlpSpec spec{.inputs = fields.integer("inputs"), .outputs = fields.integer("outputs")};
  if (fields.has("hidden")) spec.hidden = fields.integers("hidden");
  spec.activation = activation_of(fields, "activation", "relu");
  return spec;
}

Mlp Mlp::open(const std::filesystem::path& folder, bool trainable) {
  const Json json = read_json(folder / kConfig);
  const MlpSpec spec = spec_of(json.dump(), (folder / kConfig).string());
  const std::unique_ptr<StoredTensors> stored = open_weights(folder);
  StoredWeights weights(*stored, trainable);
  return {spec, weights};
}

void Mlp::save(const std::filesystem::path& folder) const {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const Parameter& parameter : parameters_)
    tensors.emplace_back(parameter.name, parameter.value.detach());
  save_weights(folder, tensors);
  AtomicFile file(folder / kConfig);
  file.write(Json{{"model_type", "mlp"},
                  {"inputs", spec_.inputs},
                  {"hidden", spec_.hidden},
                  {"outputs", spec_.outputs},
                  {"activation", name_of(spec_.activation)}}
                 .dump(2) +
             "\n");
  file.commit();
}

Tensor Mlp::operator()(const Tensor& x, const Context& context) const {
  Tensor y = x;
  for (size_t i = 0; i + 1 < layers_.size(); ++i)
    y = probed(context, "layers", std::to_string(i).c_str(),
               layers_[i](y, {.activation = spec_.activation}));
  return probed(context, "", "logits", layers_.back()(y));
}

}  // namespace glassformer
