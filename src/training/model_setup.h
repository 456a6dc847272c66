#pragma once

#include <memory>
#include <optional>

#include "glassformer/text/tokenizer.h"
#include "training/config.h"
#include "training/data/open_dataset.h"

namespace glassformer {

// The model of a run, and what is known of it.
struct ModelSetup {
  std::unique_ptr<Learner> learner;
  std::optional<Model> model;  // none for an MLP
  std::vector<std::string> labels;
  int64_t classes = 0;  // of a classifier
};

// Creates, opens or (from a checkpoint) opens again what `model` describes: {"config": {…}} is a
// new one, {"from": "folder"} one to fine-tune, with {"config": {…}} as changes to its own. Where
// fields are absent, the vocabulary's size and special ids are the tokenizer's, and the labels
// those of the data; the head is that of the task.
ModelSetup set_up_model(const TrainConfig& config, const Tokenizer* tokenizer,
                        const std::optional<std::filesystem::path>& checkpoint);

// A model that was trained so, from its folder.
ModelSetup open_trained(const TrainConfig& config, const std::filesystem::path& folder);

// What the data must fit.
DataContext data_context(const TrainConfig& config, const ModelSetup& setup,
                         const Tokenizer* tokenizer);

}  // namespace glassformer
