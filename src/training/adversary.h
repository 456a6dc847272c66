#pragma once

#include "glassformer/nn/probe.h"

namespace glassformer {

// Adversarial training (Miyato et al., 2017). The model is shown a batch, then the same batch with
// its embedding x moved against it, along the gradient g of the first loss, summed over the places
// of a token:
//   x + share · ‖x‖ · g[token] / ‖g‖
// with norms over the whole batch: a token is moved alike wherever it stands, and those that matter
// most are moved most.
class Adversary : public Probe {
 public:
  // ids: the tokens of the batch, shaped like the embedding without its last axis, below `rows`.
  Adversary(Tensor ids, int64_t rows) : ids_(std::move(ids)), rows_(rows) {}

  // After the backward of the first loss. Throw ValueError where no pass had an embedding.
  const Tensor& embedding() const;
  Tensor gradient() const;  // [rows, width], float32: zeros for tokens that are not there
  // Moves the embedding of the passes that follow by factor · g[token].
  void turn(double factor);

  ProbeWish wish(const std::string& name) override;
  void read(const std::string& /*name*/, const Tensor& /*value*/) override {}
  Tensor replace(const std::string& name, const Tensor& value) override;

 private:
  Tensor ids_;
  int64_t rows_;
  Tensor embedding_;  // as it was first seen
  Tensor change_;     // what is added to it, by token: zeros that collect a gradient, then the move
};

}  // namespace glassformer
