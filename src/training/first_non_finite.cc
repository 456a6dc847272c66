#include "training/first_non_finite.h"

#include <cmath>

#include "glassformer/autograd/no_grad.h"

namespace glassformer {
namespace {

bool is_finite(const Tensor& x) {
  return !is_floating(x.dtype()) || std::isfinite(sum_of_squares(x));
}

// Reads whole steps; not those inside an attention, which would have to be computed again.
class Watch : public Probe {
 public:
  ProbeWish wish(const std::string& name) override {
    const bool inside = name.ends_with("scores") || name.ends_with("weights");
    return {found.empty() && !inside ? ProbeWish::Kind::kRead : ProbeWish::Kind::kNothing};
  }
  void read(const std::string& name, const Tensor& value) override {
    if (found.empty() && !is_finite(value)) found = name;
  }
  Tensor replace(const std::string& /*name*/, const Tensor& value) override { return value; }

  std::string found;
};

}  // namespace

std::string first_non_finite(const Learner& learner, const Batch& batch, Generator& random,
                             const Optimizer& optimizer) {
  const NoGrad no_grad;
  for (const Trained& one : optimizer.parameters())
    if (!is_finite(one.value)) return "weight " + one.name;
  Watch watch;
  learner(batch, {.probe = &watch, .random = &random});
  if (!watch.found.empty()) return watch.found;
  for (const Trained& one : optimizer.parameters())
    if (one.value.grad().defined() && !is_finite(one.value.grad()))
      return "gradient of " + one.name;
  return "the loss itself";
}

}  // namespace glassformer
