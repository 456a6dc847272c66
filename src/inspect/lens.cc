#include "glassformer/inspect/lens.h"

#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/norm.h"
#include "inspect/weights_of.h"

namespace glassformer {

Tensor logit_lens(const Model& model, const Tensor& hidden) {
  const NoGrad no_grad;
  const std::optional<NormSpec>& norm = model.transformer().spec().last_stack().final_norm;
  Tensor x = hidden;
  if (norm) {
    const std::string place = last_stack_name(model) + ".norm.";
    const Tensor weight = weight_of(model, place + "weight");
    x = norm->kind == NormSpec::Kind::kLayer
            ? layer_norm(x, weight, weight_of(model, place + "bias"), norm->epsilon)
            : rms_norm(x, weight, norm->epsilon);
  }
  return model.transformer().head(x).logits;
}

}  // namespace glassformer
