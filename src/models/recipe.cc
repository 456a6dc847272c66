#include "models/recipe.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/check.h"

namespace glassformer {
namespace {

struct Family {
  const char* model_type;
  const char* base;  // the architecture of a configuration that names none
  MakeRecipe make;
};

constexpr Family kFamilies[] = {
    {"bert", "BertModel", bert},
    {"roberta", "RobertaModel", roberta},
    {"xlm-roberta", "XLMRobertaModel", roberta},
    {"camembert", "CamembertModel", roberta},
    {"distilbert", "DistilBertModel", distilbert},
    {"gpt2", "GPT2LMHeadModel", gpt2},
    {"llama", "LlamaForCausalLM", llama},
    {"mistral", "MistralForCausalLM", mistral},
    {"qwen2", "Qwen2ForCausalLM", qwen2},
    {"qwen3", "Qwen3ForCausalLM", qwen3},
    {"marian", "MarianMTModel", marian},
    {"bart", "BartForConditionalGeneration", bart},
    {"t5", "T5ForConditionalGeneration", t5},
    {"vit", "ViTModel", vit},
    {"deit", "DeiTModel", deit},
    {"transformer", "Transformer", transformer_2017},
};

}  // namespace

std::string ArchitectureConfig::kind(const std::string& family,
                                     const std::vector<std::string>& known) const {
  std::string kind = architecture;
  if (kind.starts_with(family)) kind.erase(0, family.size());
  require<ValueError>(std::find(known.begin(), known.end(), kind) != known.end(),
                      "{}: unknown architecture '{}'; of {} there are: {}", fields.where(),
                      architecture, family, fmt::join(known, ", "));
  return kind;
}

int64_t ArchitectureConfig::labels() const {
  if (const Json* labels = fields.find("id2label"); labels != nullptr && labels->is_object())
    return static_cast<int64_t>(labels->size());
  const int64_t labels = fields.integer("num_labels", 2);
  constexpr int64_t kMost = int64_t{1} << 30;
  require<ValueError>(labels >= 1 && labels <= kMost,
                      "{}: field 'num_labels' must be from 1 to {}, found {}", fields.where(),
                      kMost, labels);
  return labels;
}

Recipe make_recipe(const JsonFields& config) {
  const std::string type = config.text("model_type");
  for (const Family& family : kFamilies) {
    if (type != family.model_type) continue;
    std::string architecture = family.base;
    if (config.has("architectures")) {
      const std::vector<std::string> names = config.texts("architectures");
      if (!names.empty()) architecture = names.front();
    }
    return family.make({config, architecture});
  }
  std::vector<std::string> known;
  for (const Family& family : kFamilies) known.emplace_back(family.model_type);
  throw ValueError(fmt::format("{}: unknown model_type '{}'; there are: {}", config.where(), type,
                               fmt::join(known, ", ")));
}

}  // namespace glassformer
