#pragma once

#include "glassformer/nn/probe.h"

namespace glassformer {

// Adversarial training (Miyato et al., 2017). The model is shown a batch, then the same batch with
// its embedding x moved against it, along the gradient g of the first loss:
//   x + share · ‖x‖ · g / ‖g‖
// with norms over the whole batch: examples that the model is unsure of are moved most.
class Adversary : public Probe {
 public:
  struct Norms {
    double embedding = 0, gradient = 0;  // squared
  };
  // After the backward of the first loss. Throws ValueError where no pass had an embedding.
  Norms norms() const;
  // Moves the embedding of the passes that follow by factor · g.
  void turn(double factor);

  ProbeWish wish(const std::string& name) override;
  void read(const std::string& /*name*/, const Tensor& /*value*/) override {}
  Tensor replace(const std::string& name, const Tensor& value) override;

 private:
  Tensor embedding_;  // as it was first seen
  Tensor change_;     // what is added to it: zeros that collect a gradient, then the move
};

}  // namespace glassformer
