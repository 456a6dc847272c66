#include "nn/probing.h"

#include "base/check.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/gather.h"
#include "tensor/shape_format.h"

namespace glassformer {

std::string step_name(const std::string& place, const char* name) {
  return place.empty() ? name : place + "." + name;
}

bool replaces(const Context& context, const std::string& place, const char* name) {
  return context.probe != nullptr &&
         context.probe->wish(step_name(place, name)).kind == ProbeWish::Kind::kReplace;
}

Tensor replaced(Probe& probe, const std::string& name, const Tensor& value) {
  Tensor other = probe.replace(name, value);
  require<ValueError>(other.defined(), "probe: {} was replaced by no tensor", name);
  require<ShapeError>(other.shape() == value.shape(), "probe: {} has shape {}, replaced by {}",
                      name, value.shape(), other.shape());
  require<DTypeError>(other.dtype() == value.dtype(), "probe: {} is {}, replaced by {}", name,
                      name_of(value.dtype()), name_of(other.dtype()));
  require<DeviceError>(other.device() == value.device(),
                       "probe: {} is on {}, replaced by one on {}", name, name_of(value.device()),
                       name_of(other.device()));
  return other;
}

Tensor selected(const Tensor& x, int axis, const std::vector<int64_t>& ids) {
  if (ids.empty() || x.size(axis) == 1) return x;
  return index_select(x, axis, from_vector(ids, {static_cast<int64_t>(ids.size())}, x.device()));
}

Tensor asked_for(const ProbeWish& wish, const Tensor& x) {
  return selected(selected(x, 1, wish.heads), 2, wish.rows);
}

void read_beside(const Context& context, const std::string& place, const char* name,
                 const Linear& linear, const Tensor& x) {
  if (context.probe == nullptr) return;
  const std::string full = step_name(place, name);
  if (context.probe->wish(full).kind == ProbeWish::Kind::kRead)
    context.probe->read(full, linear(x));
}

Tensor add_projected(const Context& context, const std::string& place, const Linear& linear,
                     const Tensor& x, const Tensor& residual, double dropout) {
  const bool drops = context.random != nullptr && (dropout > 0 || linear.drops());
  if (!residual.defined() || drops || replaces(context, place, "output")) {
    const Tensor y =
        dropped(context, dropout, probed(context, place, "output", linear(x, {}, context)));
    return residual.defined() ? residual + y : y;
  }
  // Reading must not change how the sum is rounded, so the fused layer runs all the same.
  read_beside(context, place, "output", linear, x);
  return linear(x, {.residual = residual});
}

}  // namespace glassformer
