#include "autograd/tape.h"

#include <atomic>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "tensor/gradient_state.h"

namespace glassformer {

// One entry of the tape. Entries are numbered in the order of recording, which is a topological
// order: walking the numbers down meets every use of a tensor before the op that made it.
struct TapeNode {
  uint64_t number = 0;
  const char* op = "";
  // Null where no gradient is needed. After those of the shapes, to which the closure gives
  // gradients, come the ones that it adds to by itself.
  GradientStates inputs;
  std::vector<Shape> input_shapes;
  size_t outputs = 0;
  BackwardClosure backward;  // empty once it was used

  TapeNode() = default;
  TapeNode(const TapeNode&) = delete;
  TapeNode& operator=(const TapeNode&) = delete;
  ~TapeNode();
};

namespace {

class LeafUses;

thread_local bool recording = true;
thread_local ReadStates* reading = nullptr;  // the innermost
thread_local LeafUses* watched = nullptr;    // of the walk with a hook that runs
std::atomic<uint64_t> next_number{1};

using NodeGradients = std::unordered_map<TapeNode*, std::vector<Tensor>>;

struct OlderFirst {
  bool operator()(const std::shared_ptr<TapeNode>& a, const std::shared_ptr<TapeNode>& b) const {
    return a->number < b->number;
  }
};
using Frontier = std::priority_queue<std::shared_ptr<TapeNode>,
                                     std::vector<std::shared_ptr<TapeNode>>, OlderFirst>;

// Counts how often the tape behind some roots reaches each leaf, to tell when it has done so for
// the last time. Walks within closures see the counts as well, and are held to them.
class LeafUses {
 public:
  LeafUses(const std::vector<Tensor>& roots, const LeafHook& hook)
      : before_(std::exchange(watched, this)), hook_(hook) {
    std::vector<TapeNode*> ahead;
    std::unordered_set<const TapeNode*> seen;
    const auto reach = [&](GradientState* state) {
      if (state == nullptr) return;
      if (state->node == nullptr) {
        if (uses_[state]++ == 0) leaves_.push_back(state);
      } else if (seen.insert(state->node.get()).second) {
        ahead.push_back(state->node.get());
      }
    };
    for (const Tensor& root : roots)
      if (root.requires_grad()) reach(root.gradient_state());
    while (!ahead.empty()) {
      const TapeNode& node = *ahead.back();
      ahead.pop_back();
      for (const auto& input : node.inputs) reach(input.get());
    }
  }
  LeafUses(const LeafUses&) = delete;
  LeafUses& operator=(const LeafUses&) = delete;
  ~LeafUses() { watched = before_; }

  void check_unfinished(const GradientState& leaf) const {
    const auto found = uses_.find(&leaf);
    internal_check(found == uses_.end() || found->second > 0, "a gradient for a finished leaf");
  }
  void release(const GradientState& leaf) {
    if (--uses_.at(&leaf) == 0) hook_(&leaf);
  }
  // The entries that no gradient reached keep their uses to the end.
  void finish() {
    for (const GradientState* leaf : leaves_)
      if (std::exchange(uses_.at(leaf), 0) > 0) hook_(leaf);
  }

 private:
  LeafUses* before_;
  const LeafHook& hook_;
  std::vector<const GradientState*> leaves_;  // in the order they were met
  std::unordered_map<const GradientState*, size_t> uses_;
};

// Delivers a gradient to a leaf or to the pending outputs of the node that made the tensor.
class Walk {
 public:
  Walk(Accumulate accumulate, LeafUses* uses) : accumulate_(accumulate), uses_(uses) {}

  void deliver(GradientState& state, Tensor gradient) {
    if (state.node == nullptr) {
      if (watched != nullptr) watched->check_unfinished(state);
      state.grad = accumulate_(std::move(state.grad), std::move(gradient));
      return;
    }
    auto [found, fresh] = pending_.try_emplace(state.node.get());
    if (fresh) {
      found->second.resize(state.node->outputs);
      frontier_.push(state.node);
    }
    Tensor& slot = found->second[static_cast<size_t>(state.output)];
    slot = slot.defined() ? accumulate_(std::move(slot), std::move(gradient)) : gradient;
  }

  void run() {
    while (!frontier_.empty()) {
      const std::shared_ptr<TapeNode> node = frontier_.top();
      frontier_.pop();
      std::vector<Tensor> gradients = std::move(pending_.at(node.get()));
      pending_.erase(node.get());
      step(*node, gradients);
    }
  }

 private:
  void step(TapeNode& node, const std::vector<Tensor>& gradients) {
    require<AutogradError>(node.backward != nullptr,
                           "backward: the tape through {} was used by an earlier backward; run the "
                           "forward again, or sum the losses and go back once",
                           node.op);
    const BackwardClosure backward = std::move(node.backward);
    node.backward = nullptr;
    std::vector<Tensor> input_gradients = backward(gradients);
    internal_check(input_gradients.size() == node.input_shapes.size(), node.op);
    for (size_t i = 0; i < input_gradients.size(); ++i) {
      if (node.inputs[i] == nullptr || !input_gradients[i].defined()) continue;
      internal_check(input_gradients[i].shape() == node.input_shapes[i], node.op);
      deliver(*node.inputs[i], std::move(input_gradients[i]));
    }
    if (uses_ == nullptr) return;
    for (const auto& input : node.inputs)
      if (input != nullptr && input->node == nullptr) uses_->release(*input);
  }

  Accumulate accumulate_;
  LeafUses* uses_;  // null without a hook
  Frontier frontier_;
  NodeGradients pending_;
};

}  // namespace

// Frees a chain of any length without recursion as deep as the chain.
TapeNode::~TapeNode() {
  GradientStates doomed = std::move(inputs);
  while (!doomed.empty()) {
    std::shared_ptr<GradientState> state = std::move(doomed.back());
    doomed.pop_back();
    if (state == nullptr || state.use_count() > 1 || state->node == nullptr) continue;
    if (state->node.use_count() > 1) continue;
    for (auto& input : state->node->inputs) doomed.push_back(std::move(input));
    state->node->inputs.clear();
  }
}

bool grad_enabled() { return recording; }
GradScope::GradScope(bool enabled) : before_(recording) { recording = enabled; }
GradScope::~GradScope() { recording = before_; }

ReadStates::ReadStates() : before_(std::exchange(reading, this)) {}
ReadStates::~ReadStates() { reading = before_; }
void ReadStates::add(const std::shared_ptr<GradientState>& state) {
  if (seen_.insert(state.get()).second) states_.push_back(state);
}

bool needs_grad(const Tensor& x) {
  if (!x.defined() || !x.requires_grad()) return false;
  if (!recording && reading != nullptr) reading->add(x.shared_gradient_state());
  return recording;
}

void record(const char* op, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
            BackwardClosure backward, const GradientStates& captured) {
  if (!recording) {
    for (const Tensor& input : inputs) static_cast<void>(needs_grad(input));  // may be listed
    return;
  }
  auto node = std::make_shared<TapeNode>();
  bool wanted = !captured.empty();
  for (const Tensor& input : inputs) {
    const bool needed = needs_grad(input);
    wanted |= needed;
    std::shared_ptr<GradientState> state = needed ? input.shared_gradient_state() : nullptr;
    node->inputs.push_back(std::move(state));
    node->input_shapes.push_back(input.defined() ? input.shape() : Shape{});
  }
  if (!wanted) return;
  node->inputs.insert(node->inputs.end(), captured.begin(), captured.end());
  node->number = next_number++;
  node->op = op;
  node->outputs = outputs.size();
  node->backward = std::move(backward);
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto state = std::make_shared<GradientState>();
    state->requires_grad = true;
    state->node = node;
    state->output = static_cast<int>(i);
    Tensor(outputs[i]).set_gradient_state(std::move(state));
  }
}

void run_backward(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients,
                  Accumulate accumulate, const LeafHook& on_leaf) {
  const NoGrad no_grad;
  std::optional<LeafUses> uses;
  if (on_leaf) uses.emplace(roots, on_leaf);
  Walk walk(accumulate, uses ? &*uses : nullptr);
  for (size_t i = 0; i < roots.size(); ++i)
    if (roots[i].requires_grad()) walk.deliver(*roots[i].gradient_state(), gradients[i]);
  walk.run();
  if (uses) uses->finish();
}

SavedTensor::SavedTensor(const char* op, const Tensor& tensor)
    : op_(op),
      tensor_(tensor.defined() ? tensor.detach() : Tensor()),
      version_(tensor.defined() ? tensor.storage()->version() : 0) {}

Tensor SavedTensor::get() const {
  if (!tensor_.defined()) return tensor_;
  require<AutogradError>(tensor_.storage()->version() == version_,
                         "backward of {}: a tensor of shape {} that it needs was changed in place "
                         "after the forward (version {}, expected {})",
                         op_, tensor_.shape().str(), tensor_.storage()->version(), version_);
  return tensor_;
}

}  // namespace glassformer
