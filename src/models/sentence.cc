#include "glassformer/models/sentence.h"

#include <cmath>

#include "base/check.h"
#include "base/json.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/pointwise.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"

namespace glassformer {
namespace {

using Mode = SentencePooling::Mode;

struct ModeName {
  const char *flag, *name;  // old: one flag each; new: "pooling_mode"
  Mode mode;
};

// In the order in which sentence-transformers puts them next to each other.
constexpr ModeName kModes[] = {
    {"pooling_mode_cls_token", "cls", Mode::kFirst},
    {"pooling_mode_max_tokens", "max", Mode::kMax},
    {"pooling_mode_mean_tokens", "mean", Mode::kMean},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", Mode::kMeanSqrtLength},
    {"pooling_mode_weightedmean_tokens", "weightedmean", Mode::kWeightedMean},
    {"pooling_mode_lasttoken", "lasttoken", Mode::kLast},
};

std::vector<Mode> read_modes(const std::filesystem::path& path) {
  const Json json = read_json(path);
  const JsonFields fields(json, path.string());
  std::vector<Mode> modes;
  const Json* named = fields.find("pooling_mode");
  for (const ModeName& one : kModes) {
    bool wanted = fields.boolean(one.flag, false);
    if (named != nullptr && named->is_string()) wanted = *named == one.name;
    if (named != nullptr && named->is_array())
      wanted = std::find(named->begin(), named->end(), one.name) != named->end();
    if (wanted) modes.push_back(one.mode);
  }
  require<FileError>(!modes.empty(), "{}: expected a pooling mode, found none that is known",
                     path.string());
  return modes;
}

// A path of a module inside the folder. Throws FileError for one that leaves it.
std::filesystem::path module_path(const std::filesystem::path& folder, const JsonFields& module) {
  const std::filesystem::path path = module.text("path", "");
  for (const auto& part : path)
    require<FileError>(part != ".." && path.is_relative(),
                       "{}: expected a path inside the folder, found '{}'", module.where(),
                       path.string());
  return folder / path;
}

Tensor weighted_mean(const Tensor& rows) {
  const int64_t count = rows.size(0);
  std::vector<float> weights;
  for (int64_t i = 0; i < count; ++i)
    weights.push_back(static_cast<float>(2.0 * static_cast<double>(i + 1) /
                                         static_cast<double>(count * (count + 1))));
  return sum(rows * to(from_vector(weights, {count, 1}), rows.device()), {0}, true);
}

// rows: [tokens, width] → [1, width].
Tensor pooled(const Tensor& rows, Mode mode) {
  const int64_t count = rows.size(0);
  switch (mode) {
    case Mode::kFirst: return slice(rows, 0, 0, 1);
    case Mode::kLast: return slice(rows, 0, count - 1, count);
    case Mode::kMax: return max(rows, 0, true);
    case Mode::kMean: return mean(rows, {0}, true);
    case Mode::kMeanSqrtLength: return sum(rows, {0}, true) / std::sqrt(static_cast<double>(count));
    case Mode::kWeightedMean: return weighted_mean(rows);
  }
  return {};
}

}  // namespace

SentencePooling SentencePooling::load(const std::filesystem::path& folder) {
  SentencePooling pooling;
  const std::filesystem::path limits = folder / "sentence_bert_config.json";
  if (std::filesystem::exists(limits)) {
    const Json json = read_json(limits);
    pooling.max_length = JsonFields(json, limits.string()).integer("max_seq_length", 0);
  }
  const std::filesystem::path path = folder / "modules.json";
  if (!std::filesystem::exists(path)) return pooling;
  const Json modules = read_json(path);
  require<FileError>(modules.is_array(), "{}: expected a list of modules, found {}", path.string(),
                     describe(modules));
  for (const Json& json : modules) {
    const JsonFields module(json, path.string());
    const std::string type = module.text("type");
    const std::string kind = type.substr(type.rfind('.') + 1);
    if (kind == "Pooling")
      pooling.modes = read_modes(module_path(folder, module) / "config.json");
    else if (kind == "Normalize")
      pooling.normalize = true;
    else
      require<FileError>(kind == "Transformer",
                         "{}: expected modules Transformer, Pooling and Normalize, found '{}'",
                         path.string(), type);
  }
  return pooling;
}

Tensor pool_sentences(const Tensor& hidden, const std::vector<int64_t>& starts,
                      const SentencePooling& pooling) {
  const Tensor tokens = cast(hidden, DType::kFloat32);
  std::vector<Tensor> sentences;
  for (size_t s = 0; s + 1 < starts.size(); ++s) {
    require<ValueError>(starts[s] < starts[s + 1], "pool_sentences: sentence {} has no tokens", s);
    const Tensor rows = slice(tokens, 0, starts[s], starts[s + 1]);
    std::vector<Tensor> parts;
    for (const Mode mode : pooling.modes) parts.push_back(pooled(rows, mode));
    sentences.push_back(concatenate(parts, -1));
  }
  Tensor vectors = concatenate(sentences, 0);
  if (!pooling.normalize) return vectors;
  // As torch.nn.functional.normalize: a vector of zeros stays one.
  const Tensor length = clamp(sqrt(sum(square(vectors), {-1}, true)), 1e-12, INFINITY);
  return vectors / length;
}

}  // namespace glassformer
