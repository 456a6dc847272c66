#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "glassformer/training/learner.h"
#include "glassformer/training/trainer.h"

namespace glassformer {

// A training run as its configuration describes it; docs/training.md lists the fields.
struct TrainConfig {
  std::filesystem::path folder = {};  // of the configuration: where relative paths start
  Task task = Task::kCausalLm;
  Json model = {}, tokenizer = {}, data = {};  // objects; the tokenizer may be null
  Json lora = {};                              // object or null
  Precision precision = Precision::kFloat32;
  TrainerOptions trainer = {};
  int64_t average_last = 0;  // checkpoints whose mean is the result; 0: none
  int threads = 0;           // 0: all
  Json json = {};            // all of it, as it was read
};

using Overrides = std::vector<std::pair<std::string, std::string>>;

// Reads a .json, .yaml or .yml file. An override sets a field by its path, ("optimizer.lr",
// "3e-4"); its value is JSON where it reads as such, otherwise text. Throws FileError or
// ValueError, for unknown fields with the nearest known name.
TrainConfig read_train_config(const std::filesystem::path& path, const Overrides& overrides);
TrainConfig parse_train_config(Json json, const std::string& where,
                               const std::filesystem::path& folder);

}  // namespace glassformer
