#pragma once

#include <map>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "glassformer/decoding/options.h"
#include "glassformer/models/model.h"
#include "glassformer/text/tokenizer.h"

namespace glassformer {

// The options of generation, spelt as Hugging Face's generation configuration spells its fields
// with dashes. What is not given is as the model's folder says.
class GenerationFlags {
 public:
  void add_to(CLI::App& command);
  // `model`: a folder or a .gguf file. Words are turned into ids by the (target) tokenizer.
  GenerationOptions read(const Model& model, const std::string& path,
                         const Tokenizer* tokenizer) const;

 private:
  std::map<std::string, std::string> values_;  // field: JSON text
  std::vector<std::string> bad_words_, force_words_;
  std::string json_schema_file_, prefix_;
};

}  // namespace glassformer
