#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// What a probe wants of one named step. Heads and rows (queries) limit what is computed for the
// steps inside an attention; empty means all of them.
struct ProbeWish {
  enum class Kind : uint8_t { kNothing, kRead, kReplace };
  Kind kind = Kind::kNothing;
  std::vector<int64_t> heads = {}, rows = {};
};

// Looks at, and changes, the steps of a model while it runs. Every step of the mathematics has a
// stable name: "encoder.3.self_attention.weights", "decoder.0.feed_forward.hidden", "logits"; the
// list is in docs/probe.md. Reading leaves every result bit-identical: what the fused kernels do
// not keep is computed again beside them. Replacing a step inside an attention (scores,
// scaled_scores, masked_scores, weights) takes that one attention step by step.
class Probe {
 public:
  virtual ~Probe() = default;
  virtual ProbeWish wish(const std::string& name) = 0;
  // Called once for a name wished to be read.
  virtual void read(const std::string& name, const Tensor& value) = 0;
  // Called once for a name wished to be replaced, with the whole tensor; the model goes on with the
  // result, which must have the same shape, dtype and device.
  virtual Tensor replace(const std::string& name, const Tensor& value) = 0;
};

}  // namespace glassformer
