#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "glassformer/models/spec.h"
#include "models/names.h"

namespace glassformer {

// What a family knows: config.json → specification, and its names of the weights → ours.
struct Recipe {
  TransformerSpec spec;
  NameMap names;
  // The family's names in a folder, where the file has others (GGUF).
  std::optional<NameMap> folder_names = {};
};

// One architecture of a configuration ("BertForMaskedLM"), ready to be read.
struct ArchitectureConfig {
  JsonFields fields;
  std::string architecture;  // the first of `architectures`, or the family's base model

  // The part after the family's name: "ForMaskedLM", "Model". Throws ValueError, with what there
  // is, unless it is one of `known`.
  std::string kind(const std::string& family, const std::vector<std::string>& known) const;
  int64_t labels() const;  // of `id2label` or `num_labels`; 2 unless given
};

using MakeRecipe = Recipe (*)(const ArchitectureConfig&);

// Throws ValueError, with the families there are, for another model_type.
Recipe make_recipe(const JsonFields& config);

// The families. Each has a file of its own in models/families.
Recipe bert(const ArchitectureConfig& config);
Recipe roberta(const ArchitectureConfig& config);
Recipe distilbert(const ArchitectureConfig& config);
Recipe gpt2(const ArchitectureConfig& config);
Recipe llama(const ArchitectureConfig& config);
Recipe mistral(const ArchitectureConfig& config);
Recipe qwen2(const ArchitectureConfig& config);
Recipe qwen3(const ArchitectureConfig& config);
Recipe marian(const ArchitectureConfig& config);
Recipe bart(const ArchitectureConfig& config);
Recipe t5(const ArchitectureConfig& config);
Recipe vit(const ArchitectureConfig& config);
Recipe deit(const ArchitectureConfig& config);
Recipe transformer_2017(const ArchitectureConfig& config);

}  // namespace glassformer
