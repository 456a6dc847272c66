#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "glassformer/autograd/leaf_hook.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Takes the gradients of an op's outputs (undefined where none came) and gives those of its inputs
// (undefined where none is needed), in order.
using BackwardClosure = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Sums gradients; into may be undefined. The result is the caller's alone to keep.
using Accumulate = Tensor (*)(Tensor into, Tensor gradient);

// True if the op that reads `x` must be recorded for its sake.
bool needs_grad(const Tensor& x);
// x for a kernel to read, without a trace on the tape.
inline Tensor off_tape(const Tensor& x) { return needs_grad(x) ? x.detach() : x; }

using GradientStates = std::vector<std::shared_ptr<GradientState>>;

// Puts an op on the tape: marks `outputs` as made from `inputs`. `captured` are what its closure
// adds gradients to by itself. Does nothing where recording is off or none of them needs a
// gradient.
void record(const char* op, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
            BackwardClosure backward, const GradientStates& captured = {});

// Lists what ops read with recording off that would need a gradient with it on, each once.
class ReadStates {
 public:
  ReadStates();
  ReadStates(const ReadStates&) = delete;
  ReadStates& operator=(const ReadStates&) = delete;
  ~ReadStates();
  const GradientStates& states() const { return states_; }
  void add(const std::shared_ptr<GradientState>& state);

 private:
  ReadStates* before_;
  GradientStates states_;
  std::unordered_set<const GradientState*> seen_;
};

// Walks the tape back from `roots`, newest entry first, and adds into the grad() of every leaf.
// Each entry is used up; meeting it again throws AutogradError. `on_leaf`, where given, hears of
// every leaf that the tape reaches as soon as no entry that remains can add to it.
void run_backward(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients,
                  Accumulate accumulate, const LeafHook& on_leaf = {});

// A tensor kept for the backward. get() throws AutogradError if its memory was changed in place
// since. Holds no reference to the tape, so that an op may save its own output.
class SavedTensor {
 public:
  SavedTensor() = default;
  SavedTensor(const char* op, const Tensor& tensor);
  Tensor get() const;  // undefined where an undefined tensor was saved

 private:
  const char* op_ = "";
  Tensor tensor_;
  uint32_t version_ = 0;
};

}  // namespace glassformer
