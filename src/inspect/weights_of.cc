#include "inspect/weights_of.h"

#include "base/check.h"
#include "glassformer/ops/copy.h"

namespace glassformer {

Tensor weight_of(const Model& model, const std::string& name) {
  for (const Parameter& parameter : model.transformer().parameters()) {
    if (parameter.name != name) continue;
    require<UnsupportedError>(parameter.value.defined(),
                              "expected {} as plain numbers, found it quantised", name);
    return cast(parameter.value, parameter.dtype);
  }
  return {};
}

std::string last_stack_name(const Model& model) {
  return model.transformer().spec().decoder ? "decoder" : "encoder";
}

std::string last_embedding_name(const Model& model) {
  const TransformerSpec& spec = model.transformer().spec();
  return spec.encoder && spec.decoder ? "decoder_embedding" : "embedding";
}

}  // namespace glassformer
