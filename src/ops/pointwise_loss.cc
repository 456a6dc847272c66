#include "kernels/pointwise_loss.h"

#include "glassformer/ops/loss.h"
#include "glassformer/ops/view.h"
#include "ops/common.h"
#include "ops/loss_common.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

// Room for the result.
Tensor empty_loss(const Tensor& x, Reduction reduction) {
  return empty(reduction == Reduction::kNone ? x.shape() : Shape{}, {loss_dtype(x), x.device()});
}

// What the sum is multiplied with.
double scale_of(const Tensor& x, Reduction reduction) {
  return reduction == Reduction::kMean ? 1.0 / static_cast<double>(x.count()) : 1.0;
}

void check_weights(const char* op, const char* argument, const Tensor& weights, const Tensor& x) {
  if (!weights.defined()) return;
  check_no_gradient(op, argument, weights);
  require<ShapeError>(broadcast_shapes(op, weights.shape(), x.shape()) == x.shape(),
                      "{}: expected {} that broadcasts to shape {}, found {}", op, argument,
                      x.shape(), weights.shape());
}

// The weights in full, element by element beside x.
Tensor weights_for(const Tensor& x, const Tensor& weights) {
  return weights.defined() ? contiguous(expand(weights.detach(), x.shape())) : Tensor();
}

}  // namespace

Tensor mse_loss(const Tensor& prediction, const Tensor& target, Reduction reduction) {
  constexpr const char* kName = kMse.name;
  check_floating(kName, "prediction", prediction);
  check_defined(kName, "target", target);
  check_same_device(kName, {{"prediction", prediction}, {"target", target}});
  check_same_dtype(kName, {{"prediction", prediction}, {"target", target}});
  check_shape(kName, "target", target, prediction.shape());
  const Tensor x = contiguous(prediction), t = contiguous(target);
  Tensor y = empty_loss(x, reduction);
  const double scale = scale_of(x, reduction);
  call(kMse, x, t, y, scale);
  if (needs_grad(x) || needs_grad(t))
    record(kName, {x, t}, {y},
           [scale, keep_x = SavedTensor(kName, x), keep_t = SavedTensor(kName, t),
            need_x = needs_grad(x), need_t = needs_grad(t)](const std::vector<Tensor>& dy_in) {
             const Tensor x = keep_x.get(), t = keep_t.get(), dy = contiguous(dy_in[0]);
             // The two differ in sign alone: changing places gives the other.
             const auto gradient = [&](const Tensor& of, const Tensor& other) {
               Tensor d = empty_like(of);
               call(kMseBackward, of, other, dy, d, scale);
               return d;
             };
             return std::vector{need_x ? gradient(x, t) : Tensor(),
                                need_t ? gradient(t, x) : Tensor()};
           });
  return y;
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets,
                                        const BinaryCrossEntropyOptions& options) {
  constexpr const char* kName = kBinaryCrossEntropy.name;
  check_floating(kName, "logits", logits);
  check_defined(kName, "targets", targets);
  const NamedTensors all = {{"logits", logits},
                            {"targets", targets},
                            {"pos_weight", options.pos_weight},
                            {"weight", options.weight}};
  check_same_device(kName, all);
  check_same_dtype(kName, all);
  check_shape(kName, "targets", targets, logits.shape());
  check_no_gradient(kName, "targets", targets);
  check_weights(kName, "pos_weight", options.pos_weight, logits);
  check_weights(kName, "weight", options.weight, logits);
  const Tensor x = contiguous(logits), t = contiguous(targets);
  const Tensor p = weights_for(x, options.pos_weight), w = weights_for(x, options.weight);
  Tensor y = empty_loss(x, options.reduction);
  const double scale = scale_of(x, options.reduction);
  call(kBinaryCrossEntropy, x, t, p, w, y, scale);
  if (needs_grad(x))
    record(kName, {x}, {y},
           [scale, keep_x = SavedTensor(kName, x), keep_t = SavedTensor(kName, t),
            keep_p = SavedTensor(kName, p),
            keep_w = SavedTensor(kName, w)](const std::vector<Tensor>& dy) {
             const Tensor x = keep_x.get(), dx = empty_like(x);
             call(kBinaryCrossEntropyBackward, x, keep_t.get(), keep_p.get(), keep_w.get(),
                  contiguous(dy[0]), dx, scale);
             return std::vector{dx};
           });
  return y;
}

}  // namespace glassformer
