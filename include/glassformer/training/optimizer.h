#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "glassformer/nn/weights.h"
#include "glassformer/ops/update.h"
#include "glassformer/tensor/stored_tensors.h"
#include "glassformer/training/exchange.h"

namespace glassformer {

struct OptimizerOptions {
  enum class Kind : uint8_t { kSgd, kAdam, kAdamW, kLion, kAdafactor };
  Kind kind = Kind::kAdamW;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double momentum = 0;  // kSgd
  bool nesterov = false;
  // Which parameters decay. Those of rank 1 are biases and the weights of norms.
  enum class Decay : uint8_t { kMatrices, kAll } decay = Decay::kMatrices;
  // What the learning rate is multiplied by from a block to the one below it (Howard and Ruder,
  // 2018; Clark et al., 2020): the last block of a stack of n learns at layer_decay times the rate
  // of the head, block i at layer_decay^(n - i), the embedding at layer_decay^(n + 1).
  double layer_decay = 1;
  // bfloat16 parameters without masters are rounded up or down by chance.
  bool stochastic_rounding = false;
};

// A parameter, and its float32 master where it is of a half type.
struct Trained {
  std::string name;
  Tensor value;
  Tensor master = {};
};

// Changes parameters by their gradients. The rules are in ops/update.h; Adafactor (Shazeer and
// Stern, 2018) is as in PyTorch: second moments of a matrix by row and column.
class Optimizer {
 public:
  // Parameters that ask for no gradient are passed over. With `shards`, each of its processes keeps
  // the state of some parameters, updates these, and gets the others from their owners. Throws
  // ValueError for options outside their range.
  Optimizer(const std::vector<Trained>& parameters, const OptimizerOptions& options,
            GradientExchange* shards = nullptr);

  // One step, with gradients times `gradient_scale`. A parameter without a gradient stays as it is.
  void step(double learning_rate, double gradient_scale = 1);

  // The length of all gradients taken as one vector.
  double gradient_norm() const;
  void clear_gradients();

  int64_t steps() const { return steps_; }
  const std::vector<Trained>& parameters() const { return parameters_; }
  const OptimizerOptions& options() const { return options_; }

  // What a checkpoint keeps, and back; with shards all processes call state(), and get all of it.
  // load() throws FileError for state that is missing or does
  // not fit.
  std::vector<std::pair<std::string, Tensor>> state() const;
  void load(const StoredTensors& stored, int64_t steps);

 private:
  // By the parameter's number. Made at its first step.
  struct State {
    Tensor first = {}, second = {};  // of Adafactor: of rows and of columns
  };
  State fresh_state(const Tensor& value) const;
  void make_state(size_t i);
  bool owns(size_t i) const;
  void share();
  void update(size_t i, double learning_rate, double gradient_scale);
  void adafactor(size_t i, double learning_rate, double gradient_scale);
  UpdateCommon common(size_t i, double learning_rate, double gradient_scale) const;

  std::vector<Trained> parameters_;
  OptimizerOptions options_;
  std::vector<State> states_;
  std::vector<double> rates_;  // of the parameters, times the learning rate
  GradientExchange* shards_;
  std::vector<int> owners_;  // of the parameters, where there are shards
  int64_t steps_ = 0;
};

// "adamw", ... and back. Throws ValueError with what there is.
OptimizerOptions::Kind optimizer_kind(const std::string& name);

}  // namespace glassformer
