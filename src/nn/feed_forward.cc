#include "glassformer/nn/feed_forward.h"

#include "autograd/tape.h"
#include "glassformer/ops/activation.h"
#include "nn/probing.h"

namespace glassformer {

FeedForward::FeedForward(const Weights& weights, const FeedForwardSpec& spec)
    : place_(weights.place()),
      spec_(spec),
      up_(spec.gated ? (weights / "up").unpacked() : weights / "up",
          {spec.width, spec.hidden, spec.bias, spec.initial}),
      down_(weights / "down", {spec.hidden, spec.width, spec.bias, spec.output_initial}) {
  if (!spec.gated) return;
  gate_.emplace((weights / "gate").unpacked(),
                LinearSpec{spec.width, spec.hidden, spec.bias, spec.initial});
  if (weights.pack()) gate_up_ = Linear::fused({&*gate_, &up_});
}

Tensor FeedForward::hidden(const Tensor& x, const Context& context) const {
  if (replaces(context, place_, "up") || (gate_ && replaces(context, place_, "gate"))) {
    const Tensor up = probed(context, place_, "up", up_(x, {}, context));
    if (!gate_) return activate(up, spec_.activation);
    const Tensor gate = probed(context, place_, "gate", (*gate_)(x, {}, context));
    return gated(gate, up, spec_.activation);
  }
  read_beside(context, place_, "up", up_, x);
  if (gate_) read_beside(context, place_, "gate", *gate_, x);
  if (!gate_) return up_(x, {.activation = spec_.activation}, context);
  if (gate_up_ && !needs_grad(x)) return gated_packed((*gate_up_)(x), spec_.activation);
  return gated((*gate_)(x, {}, context), up_(x, {}, context), spec_.activation);
}

Tensor FeedForward::operator()(const Tensor& x, const Context& context,
                               const Tensor& residual) const {
  const Tensor inner = probed(context, place_, "hidden", hidden(x, context));
  return add_projected(context, place_, down_, dropped(context, spec_.dropout, inner), residual,
                       spec_.output_dropout);
}

}  // namespace glassformer
