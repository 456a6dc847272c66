#include "glassformer/nn/norm.h"

#include "glassformer/ops/norm.h"

namespace glassformer {

Norm::Norm(const Weights& weights, int64_t width, const NormSpec& spec)
    : spec_(spec), weight_(weights.get("weight", {width}, {Initial::Kind::kOnes})) {
  if (spec.kind == NormSpec::Kind::kLayer && spec.bias) bias_ = weights.get("bias", {width}, {});
}

Tensor Norm::operator()(const Tensor& x) const {
  return spec_.kind == NormSpec::Kind::kLayer ? layer_norm(x, weight_, bias_, spec_.epsilon)
                                              : rms_norm(x, weight_, spec_.epsilon);
}

}  // namespace glassformer
