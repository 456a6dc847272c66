#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "glassformer/training/checkpoint.h"
#include "glassformer/training/exchange.h"
#include "glassformer/training/objective.h"
#include "glassformer/training/schedule.h"

namespace glassformer {

struct TrainerOptions {
  int64_t steps = 0;   // in all; or
  int64_t epochs = 0;  // over the data, where there are no steps
  BatchOptions batch = {};
  int64_t accumulate = 1;  // batches of one step
  Objective objective = {};
  OptimizerOptions optimizer = {};
  Schedule schedule = {};  // its total_steps are set by the trainer
  double clip_norm = 0;    // of the gradient; 0 does not
  uint64_t seed = 0;
  bool recompute = false;        // see Context
  bool shard_optimizer = false;  // its state is spread over the processes

  int64_t evaluate_every = 0;         // steps; 0: at the end of every epoch
  int64_t patience = 0;               // evaluations without a better one before it stops; 0: never
  int64_t checkpoint_every = 0;       // steps; 0: with every evaluation
  int64_t keep = 2;                   // of the newest checkpoints; the best one is kept besides
  double ema = 0;                     // decay of an exponential average of the weights; 0: none
  std::filesystem::path output = {};  // where checkpoints go; empty: none are written
};

struct StepReport {
  int64_t step = 0, steps = 0, epoch = 0;
  double loss = 0;  // of this step, mean over its targets
  double learning_rate = 0, gradient_norm = 0;
  double tokens_per_second = 0, seconds_left = 0;
};

// What a run tells, as it goes. Any may be empty.
struct TrainingObserver {
  std::function<void(const StepReport&)> on_step = {};
  std::function<void(int64_t step, const Evaluation&)> on_evaluation = {};
  std::function<void(const std::filesystem::path&)> on_checkpoint = {};
  // Asked after every step; true writes a checkpoint and ends the run.
  std::function<bool()> should_stop = {};
};

enum class TrainingEnd : uint8_t { kFinished, kEarly, kStopped };

// The loop: batches in, gradients, an update; evaluations and checkpoints on the way. The same seed
// gives the same bits on every run, for any number of threads, stopped and resumed or not.
class Trainer {
 public:
  // All are the caller's and outlive the trainer. `validation` may be null. Throws ValueError for
  // options that make no sense.
  Trainer(const Learner& learner, const Dataset& data, const Dataset* validation,
          const TrainerOptions& options, GradientExchange& exchange);
  ~Trainer();

  // Goes on from a checkpoint, from which the learner's weights were opened. Throws FileError.
  void resume(const std::filesystem::path& checkpoint);

  // Throws ValueError where loss or gradient are no longer finite, with the step, the batch and
  // where it happened first.
  TrainingEnd run(const TrainingObserver& observer = {});

  int64_t steps() const { return options_.schedule.total_steps; }
  const TrainingState& state() const { return state_; }
  // The exponential average, put in place of the weights while `f` runs.
  void with_average(const std::function<void()>& f);

 private:
  struct StepSums {
    double loss = 0;
    int64_t targets = 0, tokens = 0;
  };
  StepSums forward_and_backward();
  Loss learn_batch(bool last);
  int64_t adversarial_rows();
  double adversarial_factor(const Tensor& embedding, Tensor gradient, int64_t rows);
  Loss loss_of_batch(const Context& context) const;
  void backward_of(const Tensor& loss, bool last);
  void exchange_gradients();
  void apply(StepSums& sums, StepReport& report);
  void update_average();
  bool evaluate_now(const TrainingObserver& observer);
  void checkpoint_now(const TrainingObserver& observer);
  bool is_due(int64_t every) const;
  RandomKey step_key() const;
  [[noreturn]] void fail_non_finite(const char* what);

  const Learner& learner_;
  const Dataset* validation_;
  TrainerOptions options_;
  GradientExchange& exchange_;
  std::unique_ptr<BatchLoader> loader_;
  Optimizer optimizer_;
  std::vector<Tensor> average_;
  TrainingState state_;
  Generator random_;
  std::function<std::unique_ptr<BatchLoader>(DataPosition)> make_loader_;
  DataPosition step_start_;  // of the batches of the current step
  Batch last_batch_;
};

}  // namespace glassformer
