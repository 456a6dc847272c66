#include "glassformer/ops/backward.h"

#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/create.h"
#include "kernels/arithmetic.h"
#include "ops/common.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

// Adds in place where nobody else can see it: gradients of different leaves never share memory, so
// that scaling one in place leaves the others alone.
Tensor accumulate(Tensor into, Tensor gradient) {
  if (!into.defined())
    return gradient.is_sole_owner() && gradient.is_contiguous() ? std::move(gradient)
                                                                : clone(gradient);
  if (!into.is_sole_owner() || !into.is_contiguous()) return add(into, gradient);
  call(kBinary, into, gradient, into, Binary::kAdd);
  into.storage()->bump_version();
  return into;
}

void check_output(const Tensor& output) {
  check_defined("backward", "output", output);
  require<AutogradError>(output.requires_grad(),
                         "backward: expected an output that was made from a tensor that requires a "
                         "gradient, found one that was not");
}

// Leaves of their own for the second run of a block.
std::vector<Tensor> as_leaves(const std::vector<Tensor>& tensors, const std::vector<bool>& needed) {
  std::vector<Tensor> leaves;
  for (size_t i = 0; i < tensors.size(); ++i) {
    leaves.push_back(tensors[i].defined() ? tensors[i].detach() : Tensor());
    if (needed[i]) leaves.back().set_requires_grad();
  }
  return leaves;
}

}  // namespace

void backward(const Tensor& loss, const LeafHook& on_leaf) {
  check_output(loss);
  require<ShapeError>(loss.count() == 1, "backward: expected a loss of one element, found shape {}",
                      loss.shape());
  run_backward({loss}, {ones(loss.shape(), loss.options())}, accumulate, on_leaf);
}

void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients,
              const LeafHook& on_leaf) {
  require<ValueError>(outputs.size() == gradients.size(),
                      "backward: expected a gradient for each of {} outputs, found {}",
                      outputs.size(), gradients.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_output(outputs[i]);
    check_shape("backward", "gradient", gradients[i], outputs[i].shape());
    check_same_device("backward", {{"output", outputs[i]}, {"gradient", gradients[i]}});
    check_same_dtype("backward", {{"output", outputs[i]}, {"gradient", gradients[i]}});
  }
  run_backward(outputs, gradients, accumulate, on_leaf);
}

std::vector<Tensor> checkpoint(const BlockFunction& block, const std::vector<Tensor>& inputs,
                               Generator* random) {
  if (!grad_enabled()) return block(inputs);
  const RandomKey start = random != nullptr ? random->state() : RandomKey{};
  std::vector<SavedTensor> saved;
  std::vector<bool> needed;
  for (const Tensor& input : inputs) {
    saved.emplace_back("checkpoint", input);
    needed.push_back(needs_grad(input));
  }
  std::vector<Tensor> outputs;
  GradientStates read;  // parameters that the block captures are among them, and only there
  {
    const NoGrad no_grad;
    const ReadStates reading;
    for (const Tensor& output : block(inputs)) outputs.push_back(output.detach());
    read = reading.states();
  }
  auto again = [block, saved, needed, random, start](const std::vector<Tensor>& gradients) {
    std::vector<Tensor> kept;
    kept.reserve(saved.size());
    for (const SavedTensor& input : saved) kept.push_back(input.get());
    const std::vector<Tensor> leaves = as_leaves(kept, needed);
    const RandomKey now = random != nullptr ? random->state() : RandomKey{};
    if (random != nullptr) random->set_state(start);
    const GradScope recording(true);
    const std::vector<Tensor> outputs = block(leaves);
    if (random != nullptr) random->set_state(now);
    std::vector<Tensor> roots, root_gradients;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!gradients[i].defined() || !outputs[i].requires_grad()) continue;
      roots.push_back(outputs[i]);
      root_gradients.push_back(gradients[i]);
    }
    run_backward(roots, root_gradients, accumulate);
    std::vector<Tensor> input_gradients;
    input_gradients.reserve(leaves.size());
    for (const Tensor& leaf : leaves)
      input_gradients.push_back(leaf.defined() ? leaf.grad() : Tensor());
    return input_gradients;
  };
  record("checkpoint", inputs, outputs, again, read);
  return outputs;
}

}  // namespace glassformer
