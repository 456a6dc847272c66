#include "glassformer/nn/linear.h"

#include <algorithm>

#include "autograd/tape.h"
#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/activation.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/create.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/quantise.h"
#include "tensor/pages.h"

namespace glassformer {
namespace {

// After packing only gradients, rows that are looked up and whoever saves the model read a weight
// again: what is mapped from a file need not stay in memory for them. (Numbers that are packed as
// they lie are given back part by part; those that are joined or cast first, here.)
void leave_to_file(const WeightMatrix& weight) {
  give_back_pages(weight.tensor.defined() ? weight.tensor : weight.quantised.codes);
}

PackedWeight packed(const WeightMatrix& weight) {
  if (weight.tensor.defined()) return {weight.tensor, weight.dtype};
  return {weight.quantised, weight.dtype, weight.int8_activations};
}

}  // namespace

Linear::Linear(const Weights& weights, const LinearSpec& spec)
    : Linear(weights.matrix("weight", {spec.out, spec.in}, spec.initial),
             spec.bias ? weights.get("bias", {spec.out}, {}) : Tensor(), weights.pack()) {
  if (weight_.quantised.defined() && weights.pack_quantised() && !packed_)
    packed_.emplace(packed(weight_)), leave_to_file(weight_);
  low_rank_ = weights.low_rank({spec.out, spec.in});
  internal_check(!low_rank_.defined() || !weights.pack_quantised(), "a low-rank pair in inference");
}

Linear::Linear(WeightMatrix weight, Tensor bias, bool pack)
    : weight_(std::move(weight)), bias_(std::move(bias)) {
  if (!pack) return;
  packed_.emplace(packed(weight_));
  leave_to_file(weight_);
}

// Quantised parts are shared; numbers are packed side by side.
PackedWeight Linear::joined_weight(const std::vector<const Linear*>& layers) {
  std::vector<const PackedWeight*> parts;
  for (const Linear* layer : layers)
    if (layer->packed_ && layer->packed_->quantised()) parts.push_back(&*layer->packed_);
  if (parts.size() == layers.size()) return PackedWeight::joined(parts);
  const auto stored = [&](const Linear* layer) {
    return layer->weight_.tensor.defined() &&
           layer->weight_.tensor.dtype() == layers.front()->weight_.tensor.dtype();
  };
  const bool as_stored = std::all_of(layers.begin(), layers.end(), stored);
  std::vector<Tensor> weights;
  weights.reserve(layers.size());
  for (const Linear* layer : layers)
    weights.push_back(as_stored ? layer->weight_.tensor : layer->plain_weight());
  return {concatenate(weights, 0), layers.front()->weight_.dtype};
}

// The biases next to each other, zeros for the layers that have none; undefined if no layer has.
Tensor Linear::joined_bias(const std::vector<const Linear*>& layers) {
  if (std::none_of(layers.begin(), layers.end(),
                   [](const Linear* layer) { return layer->bias_.defined(); }))
    return {};
  std::vector<Tensor> biases;
  biases.reserve(layers.size());
  for (const Linear* layer : layers)
    biases.push_back(layer->bias_.defined()
                         ? layer->bias_
                         : zeros({layer->weight_.rows()}, layer->weight_.options()));
  return concatenate(biases, 0);
}

Linear Linear::fused(const std::vector<const Linear*>& layers) {
  const NoGrad no_grad;
  Linear joined({}, joined_bias(layers), false);  // only the packed form is used
  joined.packed_ = joined_weight(layers);
  for (const Linear* layer : layers) leave_to_file(layer->weight_);
  return joined;
}

Tensor Linear::plain_weight() const {
  if (weight_.tensor.defined()) return cast(weight_.tensor, weight_.dtype);
  return dequantise(weight_.quantised, weight_.dtype);
}

// The pair is added before the activation, which then cannot be part of the product.
Tensor Linear::with_low_rank(const Tensor& x, const LinearOptions& options,
                             const Context& context) const {
  const Tensor inner =
      linear(dropped(context, low_rank_.dropout, x), low_rank_.a) * low_rank_.scale;
  const bool plain = options.activation == Activation::kNone;
  const Tensor base =
      linear(x, plain_weight(), bias_, {.residual = plain ? options.residual : Tensor()});
  Tensor sum = linear(inner, low_rank_.b, {}, {.residual = base});
  if (plain) return sum;
  const Tensor y = activate(sum, options.activation);
  return options.residual.defined() ? y + options.residual : y;
}

Tensor Linear::operator()(const Tensor& x, const LinearOptions& options,
                          const Context& context) const {
  if (low_rank_.defined()) return with_low_rank(x, options, context);
  // Without the plain weight this is a fused layer, which whoever made it calls off the tape only.
  const bool gradients = needs_grad(x) || needs_grad(options.residual) ||
                         needs_grad(weight_.tensor) || needs_grad(bias_);
  if (packed_ && (!weight_.defined() || !gradients)) return linear(x, *packed_, bias_, options);
  return linear(x, plain_weight(), bias_, options);
}

}  // namespace glassformer
