#include "glassformer/nn/linear.h"

#include "autograd/tape.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/create.h"
#include "glassformer/ops/gather.h"

namespace glassformer {
namespace {

// The biases next to each other, zeros for the layers that have none; undefined if no layer has.
Tensor joined_bias(const std::vector<const Linear*>& layers) {
  std::vector<Tensor> biases;
  bool any = false;
  for (const Linear* layer : layers) {
    any = any || layer->bias().defined();
    biases.push_back(layer->bias().defined()
                         ? layer->bias()
                         : zeros({layer->weight().size(0)}, layer->weight().options()));
  }
  return any ? concatenate(biases, 0) : Tensor();
}

// After packing only gradients and whoever saves the model read a weight again: what is mapped from
// a file need not stay in memory for them.
void leave_to_file(const Tensor& weight) {
  const size_t size = size_of(weight.dtype());
  if (weight.is_contiguous())
    weight.storage()->give_back_pages(static_cast<size_t>(weight.offset()) * size,
                                      static_cast<size_t>(weight.count()) * size);
}

}  // namespace

Linear::Linear(const Weights& weights, const LinearSpec& spec)
    : Linear(weights.get("weight", {spec.out, spec.in}, spec.initial),
             spec.bias ? weights.get("bias", {spec.out}, {}) : Tensor(), weights.pack()) {}

Linear::Linear(Tensor weight, Tensor bias, bool pack)
    : weight_(std::move(weight)), bias_(std::move(bias)) {
  if (!pack) return;
  packed_.emplace(weight_);
  leave_to_file(weight_);
}

Linear Linear::fused(const std::vector<const Linear*>& layers) {
  const NoGrad no_grad;
  std::vector<Tensor> weights;
  weights.reserve(layers.size());
  for (const Linear* layer : layers) weights.push_back(layer->weight());
  Linear joined(concatenate(weights, 0), joined_bias(layers), true);
  joined.weight_ = {};  // only the packed form is used
  for (const Linear* layer : layers) leave_to_file(layer->weight());
  return joined;
}

Tensor Linear::operator()(const Tensor& x, const LinearOptions& options) const {
  // Without the plain weight this is a fused layer, which whoever made it calls off the tape only.
  if (packed_ && (!weight_.defined() || !(needs_grad(x) || needs_grad(options.residual) ||
                                          needs_grad(weight_) || needs_grad(bias_))))
    return linear(x, *packed_, bias_, options);
  return linear(x, weight_, bias_, options);
}

}  // namespace glassformer
