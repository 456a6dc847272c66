#include "glassformer/inspect/rollout.h"

#include <limits>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/create.h"
#include "glassformer/ops/linear.h"
#include "glassformer/ops/pointwise.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"
#include "inspect/max_flow.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void check_layer(const char* op, const Tensor& layer, int64_t queries, int64_t keys) {
  require<ShapeError>(layer.rank() == 3 && layer.size(1) == queries && layer.size(2) == keys,
                      "{}: expected weights [heads, {}, {}] of every layer, found {}", op, queries,
                      keys, layer.shape());
}

void check_layers(const char* op, const std::vector<Tensor>& layers) {
  require<ValueError>(!layers.empty(), "{}: expected the weights of at least one layer", op);
  const int64_t tokens = layers.front().size(-1);
  for (const Tensor& layer : layers) check_layer(op, layer, tokens, tokens);
}

void check_gradients(const char* op, const WeightGradients& of) {
  require<ValueError>(of.gradients.size() == of.weights.size(),
                      "{}: expected gradients of {} layers, found {}", op, of.weights.size(),
                      of.gradients.size());
}

void check_stack(const char* op, const WeightGradients& stack) {
  check_layers(op, stack.weights);
  check_gradients(op, stack);
}

Tensor identity(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count * count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i * (count + 1))] = 1;
  return from_vector(values, {count, count});
}

Tensor with_residual(const Tensor& weights) {
  return (mean(cast(weights, DType::kFloat32), {0}) + identity(weights.size(-1))) / 2;
}

// Ā of a layer.
Tensor positive_part(const WeightGradients& of, size_t layer) {
  const Tensor product =
      cast(of.weights[layer], DType::kFloat32) * cast(of.gradients[layer], DType::kFloat32);
  return mean(clamp(product, 0, kInfinity), {0});
}

// R is kept as R − I, in which small numbers are not lost beside the ones. The self-attention rule:
// R − I becomes (I + Ā) R − I.
Tensor passed_on(const Tensor& added, const Tensor& positive) {
  return added + positive + matmul(positive, added);
}

// R − I of a whole stack.
Tensor added_by(const WeightGradients& stack) {
  const int64_t tokens = stack.weights.front().size(-1);
  Tensor added = zeros({tokens, tokens});
  for (size_t i = 0; i < stack.weights.size(); ++i)
    added = passed_on(added, positive_part(stack, i));
  return added;
}

// N(R) of R − I.
Tensor normalised(const Tensor& added) {
  const double least = std::numeric_limits<float>::min();
  const Tensor sums = clamp(sum(added, {-1}, /*keep=*/true), least, kInfinity);
  return identity(added.size(0)) + added / sums;
}

}  // namespace

Tensor attention_rollout(const std::vector<Tensor>& layers) {
  const NoGrad no_grad;
  check_layers("attention_rollout", layers);
  Tensor rolled = with_residual(layers.front());
  for (size_t i = 1; i < layers.size(); ++i) rolled = matmul(with_residual(layers[i]), rolled);
  return rolled;
}

std::vector<double> attention_flow(const std::vector<Tensor>& layers, int64_t query) {
  const NoGrad no_grad;
  check_layers("attention_flow", layers);
  const int64_t tokens = layers.front().size(-1), depth = static_cast<int64_t>(layers.size());
  require<IndexError>(query >= 0 && query < tokens,
                      "attention_flow: expected a query from 0 to {}, found {}", tokens - 1, query);
  const auto node = [&](int64_t level, int64_t token) { return level * tokens + token; };
  FlowNetwork network((depth + 1) * tokens);
  for (int64_t level = depth; level >= 1; --level) {
    const std::vector<double> weights =
        with_residual(layers[static_cast<size_t>(level - 1)]).to_vector<double>();
    for (int64_t i = 0; i < tokens; ++i)
      for (int64_t j = 0; j < tokens; ++j)
        network.add(node(level, i), node(level - 1, j),
                    weights[static_cast<size_t>(i * tokens + j)]);
  }
  std::vector<double> flows;
  for (int64_t j = 0; j < tokens; ++j)
    flows.push_back(network.max_flow(node(depth, query), node(0, j)));
  return flows;
}

Tensor gradient_rollout(const WeightGradients& stack) {
  const NoGrad no_grad;
  check_stack("gradient_rollout", stack);
  return identity(stack.weights.front().size(-1)) + added_by(stack);
}

GradientRollout gradient_rollout(const WeightGradients& encoder, const WeightGradients& decoder,
                                 const WeightGradients& cross) {
  const NoGrad no_grad;
  const char* op = "gradient_rollout";
  check_stack(op, encoder);
  check_stack(op, decoder);
  check_gradients(op, cross);
  require<ValueError>(cross.weights.size() == decoder.weights.size(),
                      "{}: expected cross-attentions of {} layers, found {}", op,
                      decoder.weights.size(), cross.weights.size());
  const int64_t sources = encoder.weights.front().size(-1);
  const int64_t targets = decoder.weights.front().size(-1);
  for (const Tensor& layer : cross.weights) check_layer(op, layer, targets, sources);

  const Tensor source = added_by(encoder), source_shares = normalised(source);
  Tensor target = zeros({targets, targets}), both = zeros({targets, sources});
  for (size_t i = 0; i < decoder.weights.size(); ++i) {
    const Tensor own = positive_part(decoder, i);
    target = passed_on(target, own);
    both = both + matmul(own, both);
    const Tensor looked_at = matmul(positive_part(cross, i), source_shares);
    both = both + matmul(transpose(normalised(target), 0, 1), looked_at);
  }
  return {identity(sources) + source, identity(targets) + target, both};
}

}  // namespace glassformer
