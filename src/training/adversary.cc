#include "training/adversary.h"

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/create.h"
#include "glassformer/ops/embedding.h"

namespace glassformer {

ProbeWish Adversary::wish(const std::string& name) {
  return {name == "embedding" ? ProbeWish::Kind::kReplace : ProbeWish::Kind::kNothing};
}

Tensor Adversary::replace(const std::string& /*name*/, const Tensor& value) {
  if (!change_.defined()) {
    embedding_ = value.detach();
    change_ = zeros({rows_, value.size(-1)}).set_requires_grad();
  }
  return value + cast(glassformer::embedding(change_, ids_), value.dtype());
}

const Tensor& Adversary::embedding() const {
  require<ValueError>(embedding_.defined(),
                      "training: adversarial: expected a model with an embedding, found none");
  return embedding_;
}

Tensor Adversary::gradient() const {
  embedding();
  return change_.grad();
}

void Adversary::turn(double factor) {
  const NoGrad no_grad;
  change_ = gradient() * factor;
}

}  // namespace glassformer
