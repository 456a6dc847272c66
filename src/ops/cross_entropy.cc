#include "kernels/cross_entropy.h"

#include "glassformer/ops/loss.h"
#include "ops/common.h"
#include "ops/loss_common.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

constexpr const char* kName = "cross_entropy";

void check(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  check_floating(kName, "logits", logits);
  check_min_rank(kName, "logits", logits, 1);
  check_index_type(kName, "targets", targets);
  require<ShapeError>(logits.size(-1) >= 1,
                      "{}: expected logits of at least one class, found shape {}", kName,
                      logits.shape());
  check_shape(kName, "targets", targets, logits.shape().without(logits.rank() - 1));
  if (options.class_weights.defined()) {
    check_floating(kName, "class_weights", options.class_weights);
    check_shape(kName, "class_weights", options.class_weights, {logits.size(-1)});
    check_no_gradient(kName, "class_weights", options.class_weights);
  }
  check_same_device(
      kName, {{"logits", logits}, {"targets", targets}, {"class_weights", options.class_weights}});
  require<ValueError>(options.label_smoothing >= 0 && options.label_smoothing <= 1,
                      "{}: expected label_smoothing from 0 to 1, found {}", kName,
                      options.label_smoothing);
}

}  // namespace

Tensor cross_entropy(const Tensor& logits_in, const Tensor& targets_in,
                     const CrossEntropyOptions& options) {
  check(logits_in, targets_in, options);
  const CrossEntropyRule rule{options.label_smoothing, options.ignore_index};
  const Tensor logits = contiguous(logits_in);
  const Tensor targets = contiguous(cast(targets_in, DType::kInt64));
  const TensorOptions wide{loss_dtype(logits), logits.device()};
  const Tensor weights = options.class_weights.defined()
                             ? contiguous(cast(options.class_weights.detach(), wide.dtype))
                             : Tensor();
  const Tensor log_sum_exp = empty(targets.shape(), wide);
  Tensor loss = empty(targets.shape(), wide), normalizer;
  call(kCrossEntropy, logits, targets, weights, log_sum_exp, loss, rule);
  if (options.reduction != Reduction::kNone) {
    const Tensor losses = loss;
    loss = empty({}, wide);
    if (options.reduction == Reduction::kMean) normalizer = empty({}, wide);
    call(kCrossEntropyReduce, losses, targets, weights, loss, normalizer, rule.ignore_index);
  }
  if (needs_grad(logits))
    record(kName, {logits}, {loss},
           [=, keep_logits = SavedTensor(kName, logits), keep_targets = SavedTensor(kName, targets),
            keep_weights = SavedTensor(kName, weights)](const std::vector<Tensor>& dy) {
             const Tensor x = keep_logits.get(), dx = empty_like(x);
             call(kCrossEntropyBackward, x, keep_targets.get(), keep_weights.get(), log_sum_exp,
                  normalizer, contiguous(dy[0]), dx, rule);
             return std::vector{dx};
           });
  return loss;
}

}  // namespace glassformer
