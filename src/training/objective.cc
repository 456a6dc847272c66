#include "glassformer/training/objective.h"

#include <cmath>
#include <numeric>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/ops.h"
#include "glassformer/training/batch_loader.h"

namespace glassformer {
namespace {

// Rows of length 1.
Tensor normalised(const Tensor& x) {
  return x / clamp(sqrt(sum(square(x), {-1}, true)), 1e-12, INFINITY);
}

// anchors and positives [2n, width] → each anchor's cosines with all positives [n, n].
Tensor similarities(const Tensor& vectors, double temperature) {
  const int64_t count = vectors.size(0) / 2;
  const Tensor unit = normalised(vectors);
  return matmul(slice(unit, 0, 0, count), transpose(slice(unit, 0, count, 2 * count), 0, 1)) /
         temperature;
}

struct Held {
  Tensor logits, targets;
};

Held classes_of(const Objective& objective, const Tensor& output, const Batch& batch) {
  if (objective.task != Task::kEmbedding) return {output, batch.targets};
  const Tensor logits = similarities(output, objective.temperature);
  std::vector<int64_t> own(static_cast<size_t>(logits.size(0)));
  std::iota(own.begin(), own.end(), int64_t{0});
  return {logits, from_vector(own, {logits.size(0)}, output.device())};
}

// Small differences of chances need more than half precision.
Tensor widened(const Tensor& logits) {
  return logits.dtype() == DType::kFloat64 ? logits : cast(logits, DType::kFloat32);
}

// 1 for a target that counts, 0 for an ignored one, in the shape of `like`.
Tensor held_targets(const Batch& batch, const Tensor& like) {
  std::vector<float> held;
  for (const int64_t target : batch.targets.to_vector<int64_t>())
    held.push_back(target == kIgnoredTarget ? 0.F : 1.F);
  return cast(from_vector(held, like.shape(), like.device()), like.dtype());
}

bool is_regression(const Batch& batch) {
  return batch.targets.defined() && is_floating(batch.targets.dtype());
}

// Counts the targets whose class has the largest logit.
int64_t count_right(const Held& held, bool keep, Evaluation& result) {
  const std::vector<int64_t> best = argmax(held.logits, -1).to_vector<int64_t>();
  const std::vector<int64_t> targets = held.targets.to_vector<int64_t>();
  int64_t count = 0;
  for (size_t i = 0; i < best.size(); ++i) count += best[i] == targets[i] ? 1 : 0;
  if (keep) {
    result.predictions.insert(result.predictions.end(), best.begin(), best.end());
    result.targets.insert(result.targets.end(), targets.begin(), targets.end());
  }
  return count;
}

}  // namespace

Loss loss_of(const Objective& objective, const Tensor& output, const Batch& batch) {
  if (is_regression(batch)) {
    const Tensor prediction = reshape(cast(output, batch.targets.dtype()), batch.targets.shape());
    return {mse_loss(prediction, batch.targets, Reduction::kSum), batch.target_count};
  }
  const Held held = classes_of(objective, output, batch);
  return {cross_entropy(held.logits, held.targets,
                        {.label_smoothing = objective.label_smoothing,
                         .ignore_index = kIgnoredTarget,
                         .reduction = Reduction::kSum}),
          batch.target_count};
}

Loss loss_of_two(const Objective& objective, const Tensor& first, const Tensor& second,
                 const Batch& batch) {
  require<ValueError>(!is_regression(batch) && objective.task != Task::kEmbedding,
                      "training: r_drop: expected targets that are classes, found {}",
                      is_regression(batch) ? "numbers" : "pairs of texts");
  const Loss of_first = loss_of(objective, first, batch);
  const Loss of_second = loss_of(objective, second, batch);
  const Tensor log_p = log_softmax(widened(first));
  const Tensor log_q = log_softmax(widened(second));
  const Tensor apart = sum((exp(log_p) - exp(log_q)) * (log_p - log_q), {-1});
  const Tensor difference = sum(apart * held_targets(batch, apart));
  return {(of_first.sum + of_second.sum + difference * objective.r_drop) * 0.5, of_first.count};
}

Evaluation evaluate(const Learner& learner, const Dataset& data, const Objective& objective,
                    const BatchOptions& batches, bool keep_predictions) {
  const NoGrad no_grad;
  Objective plain = objective;
  plain.label_smoothing = 0;
  BatchOptions in_order = batches;
  in_order.shuffle = false;
  in_order.drop_last = false;
  BatchLoader loader(data, in_order, 0);
  Evaluation result;
  double loss = 0;
  int64_t right = 0;
  for (int64_t i = loader.batches_in_epoch(); i > 0; --i) {
    const Batch batch = loader.next();
    const Tensor output = learner(batch, {});
    loss += loss_of(plain, output, batch).sum.item();
    result.count += batch.target_count;
    if (is_regression(batch))
      result.has_accuracy = false;
    else
      right += count_right(classes_of(plain, output, batch), keep_predictions, result);
  }
  const double count = static_cast<double>(std::max<int64_t>(1, result.count));
  result.loss = loss / count;
  result.accuracy = static_cast<double>(right) / count;
  return result;
}

}  // namespace glassformer
