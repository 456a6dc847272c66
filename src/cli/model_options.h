#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "glassformer/models/model.h"

namespace glassformer {

// MODEL of a command, required; after parsing, `path` is that of the folder or file. `kinds` says
// what may be given.
void add_model_argument(CLI::App& command, std::string& path,
                        const std::string& kinds = "a Hugging Face folder or a .gguf file");

// The options of every command that runs a model.
struct ModelOptions {
  std::string path;
  std::string dtype = "float32", device = "cpu";
  std::string activations = "int8";
  std::string adapter;
  int threads = 0;

  void add_to(CLI::App& command);
  // Sets the number of threads, and opens the model.
  Model open() const;
};

}  // namespace glassformer
