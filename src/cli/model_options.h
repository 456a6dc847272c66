#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "glassformer/models/model.h"

namespace glassformer {

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
