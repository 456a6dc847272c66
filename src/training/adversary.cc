#include "training/adversary.h"

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/create.h"
#include "glassformer/ops/update.h"

namespace glassformer {

ProbeWish Adversary::wish(const std::string& name) {
  return {name == "embedding" ? ProbeWish::Kind::kReplace : ProbeWish::Kind::kNothing};
}

Tensor Adversary::replace(const std::string& /*name*/, const Tensor& value) {
  if (!change_.defined()) {
    embedding_ = value.detach();
    change_ = zeros_like(embedding_).set_requires_grad();
  }
  return value + change_;
}

Adversary::Norms Adversary::norms() const {
  require<ValueError>(change_.defined() && change_.grad().defined(),
                      "training: adversarial: expected a model with an embedding, found none");
  return {sum_of_squares(embedding_), sum_of_squares(change_.grad())};
}

void Adversary::turn(double factor) {
  const NoGrad no_grad;
  change_ = change_.grad() * factor;
}

}  // namespace glassformer
