#include "glassformer/inspect/rollout.h"

#include <algorithm>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/linear.h"
#include "glassformer/ops/pointwise.h"
#include "glassformer/ops/reduce.h"
#include "inspect/max_flow.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

void check_layers(const char* op, const std::vector<Tensor>& layers) {
  require<ValueError>(!layers.empty(), "{}: expected the weights of at least one layer", op);
  const int64_t tokens = layers.front().size(-1);
  for (const Tensor& layer : layers)
    require<ShapeError>(layer.rank() == 3 && layer.size(1) == tokens && layer.size(2) == tokens,
                        "{}: expected weights [heads, {}, {}] of every layer, found {}", op, tokens,
                        tokens, layer.shape());
}

Tensor identity(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count * count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i * (count + 1))] = 1;
  return from_vector(values, {count, count});
}

Tensor with_residual(const Tensor& weights) {
  return (mean(cast(weights, DType::kFloat32), {0}) + identity(weights.size(-1))) / 2;
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

Tensor gradient_rollout(const std::vector<Tensor>& layers, const std::vector<Tensor>& gradients) {
  const NoGrad no_grad;
  check_layers("gradient_rollout", layers);
  require<ValueError>(gradients.size() == layers.size(),
                      "gradient_rollout: expected gradients of {} layers, found {}", layers.size(),
                      gradients.size());
  Tensor rolled = identity(layers.front().size(-1));
  for (size_t i = 0; i < layers.size(); ++i) {
    const Tensor product = cast(layers[i], DType::kFloat32) * cast(gradients[i], DType::kFloat32);
    const Tensor positive = mean(clamp(product, 0, std::numeric_limits<double>::infinity()), {0});
    rolled = rolled + matmul(positive, rolled);
  }
  return rolled;
}

}  // namespace glassformer
