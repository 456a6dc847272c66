#include "glassformer/nn/block.h"

namespace glassformer {
namespace {

int64_t width_of(const BlockSpec& spec) { return spec.self_attention.width; }

std::string last_norm_name(const BlockSpec& spec) {
  return spec.cross_attention ? "norm_3" : "norm_2";
}

}  // namespace

Block::Block(const Weights& weights, const BlockSpec& spec)
    : place_(weights.place()),
      pre_norm_(spec.pre_norm),
      self_attention_(weights / "self_attention", spec.self_attention,
                      AttentionLayer::Reads::kSelf),
      norm_1_(weights / "norm_1", width_of(spec), spec.norm),
      feed_forward_(weights / "feed_forward", spec.feed_forward),
      last_norm_(weights / last_norm_name(spec), width_of(spec), spec.norm) {
  if (!spec.cross_attention) return;
  cross_attention_.emplace(weights / "cross_attention", *spec.cross_attention,
                           AttentionLayer::Reads::kSource);
  norm_2_.emplace(weights / "norm_2", width_of(spec), spec.norm);
}

template <class Sublayer>
Tensor Block::around(const Tensor& x, const Norm& norm, Names names, const Context& context,
                     const Sublayer& run) const {
  if (pre_norm_) {
    const Tensor normed = probed(context, place_, names.norm, norm(x));
    return probed(context, place_, names.residual, run(normed, x));
  }
  const Tensor sum = probed(context, place_, names.residual, run(x, x));
  return probed(context, place_, names.norm, norm(sum));
}

Tensor Block::operator()(const Tensor& input_x, const BlockInput& input,
                         const Context& context) const {
  Tensor x = around(input_x, norm_1_, {"residual_1", "norm_1"}, context,
                    [&](const Tensor& in, const Tensor& residual) {
                      return self_attention_(in, input.self, context, residual);
                    });
  if (cross_attention_)
    x = around(x, *norm_2_, {"residual_2", "norm_2"}, context,
               [&](const Tensor& in, const Tensor& residual) {
                 return (*cross_attention_)(in, input.cross, context, residual);
               });
  const Names last =
      cross_attention_ ? Names{"residual_3", "norm_3"} : Names{"residual_2", "norm_2"};
  x = around(x, last_norm_, last, context, [&](const Tensor& in, const Tensor& residual) {
    return feed_forward_(in, context, residual);
  });
  return probed(context, place_, "block", x);
}

}  // namespace glassformer
