#pragma once

#include <optional>
#include <string>

#include "glassformer/nn/context.h"
#include "glassformer/nn/linear.h"

namespace glassformer {

struct FeedForwardSpec {
  int64_t width = 0, hidden = 0;
  Activation activation = Activation::kRelu;
  bool gated = false;
  bool bias = true;
  double dropout = 0;         // of the hidden layer
  double output_dropout = 0;  // of the output, before the residual
  Initial initial = {}, output_initial = {};
};

// The position-wise feed-forward network, and the residual around it:
//   residual + dropout(down(hidden)),  hidden = activation(up(x)), or activation(gate(x)) · up(x)
// x: [..., width]. Weights `up`, `gate` and `down`. Steps: up, gate (before the activation),
// hidden, output.
class FeedForward {
 public:
  FeedForward(const Weights& weights, const FeedForwardSpec& spec);
  Tensor operator()(const Tensor& x, const Context& context, const Tensor& residual = {}) const;

 private:
  Tensor hidden(const Tensor& x, const Context& context) const;

  std::string place_;
  FeedForwardSpec spec_;
  Linear up_, down_;
  std::optional<Linear> gate_;
  std::optional<Linear> gate_up_;  // both in one, for inference
};

}  // namespace glassformer
