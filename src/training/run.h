#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "glassformer/text/tokenizer.h"
#include "training/config.h"
#include "training/model_setup.h"

namespace glassformer {

// What a configuration describes, opened and ready to run.
class TrainingRun {
 public:
  // `resume`: a checkpoint to go on from. The output folder is made, a tokenizer is trained where
  // the configuration says so; `say` hears what happens meanwhile. Throws what opening throws.
  TrainingRun(const TrainConfig& config, GradientExchange& exchange,
              const std::optional<std::filesystem::path>& resume,
              const std::function<void(const std::string&)>& say);
  ~TrainingRun();

  TrainingEnd run(const TrainingObserver& observer);
  // Writes the trained model to the output folder, as Hugging Face lays it out: the last weights;
  // their average, or the best of an early stopping, where the configuration asks for it. An
  // adapter is merged, and also written by itself, to `adapter`.
  void write_result();

  const Trainer& trainer() const { return *trainer_; }
  const Learner& learner() const { return *setup_->learner; }
  std::unique_ptr<Dataset> open_split(const char* name);
  struct Counts {
    int64_t trained = 0, all = 0;
  };
  Counts parameter_counts() const;

 private:
  const TrainConfig& config_;
  GradientExchange& exchange_;
  std::optional<std::filesystem::path> resume_;
  std::function<void(const std::string&)> say_;
  std::optional<JsonFields> data_fields_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<ModelSetup> setup_;
  std::unique_ptr<Dataset> data_, validation_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace glassformer
