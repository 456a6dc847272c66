#include "glassformer/nn/context.h"

#include "glassformer/ops/dropout.h"
#include "nn/probing.h"

namespace glassformer {

Tensor probed(const Context& context, const std::string& place, const char* name, Tensor value) {
  if (context.probe == nullptr) return value;
  const std::string full = step_name(place, name);
  switch (context.probe->wish(full).kind) {
    case ProbeWish::Kind::kNothing: break;
    case ProbeWish::Kind::kRead: context.probe->read(full, value); break;
    case ProbeWish::Kind::kReplace: return replaced(*context.probe, full, value);
  }
  return value;
}

Tensor dropped(const Context& context, double p, const Tensor& x) {
  return context.random == nullptr || p == 0 ? x : dropout(x, p, context.random->next());
}

}  // namespace glassformer
