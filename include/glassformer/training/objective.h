#pragma once

#include <string>
#include <vector>

#include "glassformer/training/batch_plan.h"
#include "glassformer/training/learner.h"
#include "glassformer/training/task.h"

namespace glassformer {

// What training makes smaller.
struct Objective {
  Task task = Task::kCausalLm;
  double label_smoothing = 0;
  double temperature = 0.05;  // kEmbedding: what cosines are divided by
  // α of R-Drop (Liang et al., 2021), for classes; 0: none. Each batch goes through the model
  // twice, with other dropout; see loss_of_two.
  double r_drop = 0;
  // Adversarial training (Miyato et al., 2017), of models with an embedding; 0: none. The mean of
  // the loss and of the loss with the embedding of the batch moved by this share of its length in
  // the direction in which the loss grows most.
  double adversarial = 0;
};

struct Loss {
  Tensor sum;         // over the targets, on the tape
  int64_t count = 0;  // of them: the mean is sum / count
};

// Classes: the cross-entropy. Float targets: the squared error. kEmbedding: the cross-entropy of
// each anchor's cosine with its own positive among all positives of the batch.
Loss loss_of(const Objective& objective, const Tensor& output, const Batch& batch);

// The mean of the losses of two outputs of one batch, and α times how much the classes' chances p
// and q of the two differ: ½ KL(p ‖ q) + ½ KL(q ‖ p) = ½ Σ (p - q)(log p - log q), over the targets
// that are not ignored. Throws ValueError where the targets are not classes.
Loss loss_of_two(const Objective& objective, const Tensor& first, const Tensor& second,
                 const Batch& batch);

// How good outputs are, over many batches.
struct Evaluation {
  double loss = 0;      // the mean, without label smoothing
  double accuracy = 0;  // of classes; the share of targets whose class has the largest output
  int64_t count = 0;    // of targets
  bool has_accuracy = true;
  std::vector<int64_t> predictions = {}, targets = {};  // where they are kept
};
Evaluation evaluate(const Learner& learner, const Dataset& data, const Objective& objective,
                    const BatchOptions& batches, bool keep_predictions = false);

}  // namespace glassformer
