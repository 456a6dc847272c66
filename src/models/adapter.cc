#include "models/adapter.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/nn/random_weights.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/linear.h"
#include "glassformer/ops/view.h"

namespace glassformer {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr const char* kLoraA = ".lora_A.weight";
constexpr const char* kLoraB = ".lora_B.weight";

// As PEFT matches: the whole name, or its last parts.
bool ends_with_parts(const std::string& name, const std::string& parts) {
  return name == parts || name.ends_with("." + parts);
}

// A module that is called `parts`, or one around it.
bool is_within(const std::string& name, const std::string& parts) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    if (ends_with_parts(name.substr(0, dot), parts)) return true;
  return false;
}

void check_options(const LoraOptions& options) {
  require<ValueError>(options.rank >= 1, "lora: expected a rank of at least 1, found {}",
                      options.rank);
  require<ValueError>(options.dropout >= 0 && options.dropout < 1,
                      "lora: expected a dropout in [0, 1), found {}", options.dropout);
  require<ValueError>(std::isfinite(options.alpha), "lora: expected a finite alpha, found {}",
                      options.alpha);
}

// Hugging Face's name of the module of our weight, and what part of it ours is; an empty name for
// what is not the weight of a module.
NameMap::Stored module_of(const NameMap& modules, const std::string& name) {
  NameMap::Stored module = modules.find(name).front();
  if (module.name.ends_with(kWeight))
    module.name.resize(module.name.size() - kWeight.size());
  else
    module.name.clear();
  return module;
}

double scale_of(const LoraOptions& options) {
  const auto rank = static_cast<double>(options.rank);
  return options.alpha / (options.rank_stabilised ? std::sqrt(rank) : rank);
}

}  // namespace

Tensor merged(const Tensor& weight, const LowRank& pair) {
  const NoGrad no_grad;
  const DType wide = weight.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const Tensor change = matmul(cast(pair.b, wide), cast(pair.a, wide)) * pair.scale;
  return cast(cast(weight, wide) + change, weight.dtype());
}

std::vector<Parameter> merged(const std::vector<Parameter>& parameters, const Adapter& adapter) {
  std::vector<Parameter> all;
  for (const Parameter& parameter : parameters) {
    if (parameter.name.ends_with(".lora_a") || parameter.name.ends_with(".lora_b")) continue;
    all.push_back(parameter);
    const auto pair = adapter.pairs.find(parameter.name);
    if (pair != adapter.pairs.end() && parameter.value.defined())
      all.back().value = merged(parameter.value, pair->second);
  }
  return all;
}

AdaptedWeights::AdaptedWeights(WeightSource& base, const NameMap& modules, const AdapterFile* file,
                               LoraOptions options, WeightOptions weights, Form form)
    : base_(base), modules_(modules), file_(file), weights_(weights), form_(form) {
  check_options(options);
  adapter_.options = std::move(options);
  if (file != nullptr) saved_.emplace(*file, modules, weights);
}

bool AdaptedWeights::contains(const std::string& name) const {
  return base_.contains(name) || (saved_ && saved_->contains(name));
}

bool AdaptedWeights::is_trained(const std::string& name) const {
  if (saved_) return saved_->contains(name);
  const std::string stored = modules_.find(name).front().name;
  return std::any_of(adapter_.options.also_trained.begin(), adapter_.options.also_trained.end(),
                     [&](const std::string& module) { return is_within(stored, module); });
}

Tensor AdaptedWeights::get(const std::string& name, const Shape& shape, const Initial& initial) {
  if (!is_trained(name)) return base_.get(name, shape, initial);
  adapter_.trained.insert(name);
  const std::string stored = modules_.find(name).front().name;
  for (const std::string& module : adapter_.options.also_trained)
    if (is_within(stored, module)) met_.insert(module);
  const Tensor value = (saved_ ? *saved_ : base_).get(name, shape, initial);
  return form_ == Form::kMerged ? value : clone(value).set_requires_grad();
}

WeightMatrix AdaptedWeights::matrix(const std::string& name, const Shape& shape,
                                    const Initial& initial) {
  if (is_trained(name)) return WeightMatrix::of(get(name, shape, initial));
  if (form_ == Form::kMerged)
    if (const LowRank pair = pair_of(name, shape); pair.defined())
      return WeightMatrix::of(merged(base_.get(name, shape, initial), pair));
  return base_.matrix(name, shape, initial);
}

LowRank AdaptedWeights::low_rank(const std::string& name, const Shape& shape) {
  return form_ == Form::kMerged || is_trained(name) ? LowRank() : pair_of(name, shape);
}

bool AdaptedWeights::is_target(const std::string& name) {
  const auto [module, form] = module_of(modules_, name);
  if (file_ != nullptr) return file_->find(module + kLoraA) != nullptr;
  if (!module.empty()) layers_.insert(module.substr(module.rfind('.') + 1));
  const std::string ours = name.substr(0, name.size() - kWeight.size());
  bool found = false;
  for (const std::string& target : adapter_.options.targets) {
    const bool theirs = !module.empty() && ends_with_parts(module, target);
    if (!theirs && !ends_with_parts(ours, target)) continue;
    require<ValueError>(theirs || (!module.empty() && form.parts == 1),
                        "lora: target '{}': '{}' is stored as a part of '{}' and cannot be adapted "
                        "by itself",
                        target, ours, modules_.find(name).front().name);
    met_.insert(target);
    found = true;
  }
  return found;
}

Tensor AdaptedWeights::half(const std::string& module, const char* which, const Shape& shape,
                            double start) const {
  const std::string name = module + which;
  const TensorOptions options{weights_.dtype.value_or(DType::kFloat32), weights_.device};
  if (file_ == nullptr)
    return RandomWeights(adapter_.options.seed, options)
        .get(name, shape, {start > 0 ? Initial::Kind::kUniform : Initial::Kind::kZeros, start})
        .detach();
  const StoredTensor* found = file_->find(name);
  require<FileError>(found != nullptr, "{}: tensor '{}' {} is missing", file_->where(), name,
                     shape.str());
  require<FileError>(found->shape == shape, "{}: tensor '{}' must be {}, found {}", file_->where(),
                     name, shape.str(), found->shape.str());
  return to(cast(file_->get(name), options.dtype), options.device);
}

LowRank AdaptedWeights::pair_of(const std::string& name, const Shape& shape) {
  if (!is_target(name)) return {};
  const NoGrad no_grad;
  const auto [module, form] = module_of(modules_, name);
  const int64_t rank = adapter_.options.rank, out = shape[0], in = shape[1];
  LowRank pair{.scale = scale_of(adapter_.options), .dropout = adapter_.options.dropout};
  Tensor& a = shared_[module];
  if (!a.defined())
    a = clone(half(module, kLoraA, {rank, in}, 1 / std::sqrt(static_cast<double>(in))));
  pair.a = a;
  const Tensor b = half(module, kLoraB, {out * form.parts, rank}, 0);
  pair.b = clone(slice(b, 0, form.part * out, (form.part + 1) * out));
  if (form_ == Form::kPairs) pair.a.set_requires_grad(), pair.b.set_requires_grad();
  adapter_.pairs[name] = pair;
  return pair;
}

Adapter AdaptedWeights::take() {
  if (file_ != nullptr) {
    file_->check_all_used();
    return std::move(adapter_);
  }
  require<ValueError>(!adapter_.options.targets.empty(),
                      "lora: expected at least one target, found none; this model has {}",
                      fmt::join(layers_, ", "));
  for (const auto* names : {&adapter_.options.targets, &adapter_.options.also_trained})
    for (const std::string& name : *names)
      require<ValueError>(met_.contains(name),
                          "lora: '{}': expected the end of the name of a linear layer, or of a "
                          "module that is trained as a whole; this model has {}",
                          name, fmt::join(layers_, ", "));
  return std::move(adapter_);
}

void save_adapter(const std::filesystem::path& folder, const Adapter& adapter,
                  const NameMap& modules, const std::string& base,
                  const std::vector<Parameter>& parameters) {
  const NoGrad no_grad;
  std::vector<Parameter> whole;
  for (const Parameter& parameter : parameters)
    if (adapter.trained.contains(parameter.name)) whole.push_back(parameter);
  std::vector<NamedTensor> tensors = stored_parameters(whole, modules, std::nullopt, {});

  AdapterConfig config{adapter.options, base};
  std::map<std::string, std::vector<Tensor>> b_parts;  // by module
  for (const auto& [name, pair] : adapter.pairs) {
    const auto [module, form] = module_of(modules, name);
    config.fan_in_fan_out |= form.transposed;
    std::vector<Tensor>& parts = b_parts[module];
    if (parts.empty()) tensors.emplace_back(module + kLoraA, pair.a.detach());
    parts.resize(static_cast<size_t>(form.parts));
    parts[static_cast<size_t>(form.part)] = pair.b.detach();
  }
  // Names of ours mean nothing to PEFT: where its own do not say it all, every module is named.
  std::vector<std::string>& targets = config.options.targets;
  const bool theirs = std::all_of(b_parts.begin(), b_parts.end(), [&](const auto& module) {
    return std::any_of(targets.begin(), targets.end(), [&](const std::string& target) {
      return ends_with_parts(module.first, target);
    });
  });
  if (!theirs) targets.clear();
  const bool name_all = targets.empty();
  for (const auto& [module, parts] : b_parts) {
    tensors.emplace_back(module + kLoraB, concatenate(parts, 0));
    if (name_all) targets.push_back(module);
  }
  save_adapter_file(folder, config, std::move(tensors));
}

}  // namespace glassformer
