#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include "glassformer/training/batch_loader.h"
#include "glassformer/training/learner.h"

namespace glassformer {

// Where a training run stands. Together with the weights and the optimiser's state it is all that
// the rest of the run depends on.
struct TrainingState {
  int64_t step = 0;  // that was finished
  DataPosition position = {};
  double best_loss = std::numeric_limits<double>::infinity();  // of an evaluation
  int64_t best_step = 0;
  int64_t evaluations_since_best = 0;
};

// A checkpoint is the folder `checkpoint-STEP` of a run: the model as it opens by itself,
// `optimizer.safetensors`, `average.safetensors` where weights are averaged, and `trainer.json`,
// which has the state, and the size and CRC-32 of every other file. It is written beside its place
// and renamed when it is on disk: a folder of that name is complete.
struct CheckpointContent {
  const Learner* learner;
  std::vector<std::pair<std::string, Tensor>> optimizer;
  int64_t optimizer_steps = 0;
  std::vector<std::pair<std::string, Tensor>> average = {};
  TrainingState state;
};
std::filesystem::path write_checkpoint(const std::filesystem::path& run,
                                       const CheckpointContent& content);

// Reads trainer.json after every file was held to it. Throws FileError, naming the file, for one
// that is missing, cut short or changed, and for a checkpoint of another version.
struct CheckpointInfo {
  TrainingState state;
  int64_t optimizer_steps = 0;
};
CheckpointInfo read_checkpoint(const std::filesystem::path& checkpoint);

// The complete checkpoints of a run, oldest first, by their steps.
std::vector<std::pair<int64_t, std::filesystem::path>> checkpoints_of(
    const std::filesystem::path& run);

// Removes all but the newest `keep` and that of step `best`.
void prune_checkpoints(const std::filesystem::path& run, int64_t keep, int64_t best);

// Writes to `out` the model of the checkpoints with the mean of their weights. Throws FileError
// where they do not fit together.
void average_checkpoints(const std::vector<std::filesystem::path>& checkpoints,
                         const std::filesystem::path& out);

}  // namespace glassformer
