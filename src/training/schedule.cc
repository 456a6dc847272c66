#include "glassformer/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "base/named_choice.h"

namespace glassformer {
namespace {

using Kind = Schedule::Kind;

// From `from` to `to` along half a cosine, as `share` goes from 0 to 1.
double cosine(double from, double to, double share) {
  return to + (from - to) * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

}  // namespace

Schedule::Kind schedule_kind(const std::string& name) {
  return named_choice<Kind>("schedule", name,
                            {{"constant", Kind::kConstant},
                             {"linear", Kind::kLinear},
                             {"cosine", Kind::kCosine},
                             {"inverse_square_root", Kind::kInverseSquareRoot},
                             {"one_cycle", Kind::kOneCycle}});
}

void Schedule::check() const {
  require<ValueError>(peak >= 0 && std::isfinite(peak),
                      "schedule: expected a learning rate from 0, found {}", peak);
  require<ValueError>(warmup_steps >= 0, "schedule: expected warmup_steps from 0, found {}",
                      warmup_steps);
  require<ValueError>(kind != Kind::kInverseSquareRoot || warmup_steps > 0,
                      "schedule: inverse_square_root needs warmup_steps");
  const bool needs_end = kind == Kind::kLinear || kind == Kind::kCosine || kind == Kind::kOneCycle;
  require<ValueError>(!needs_end || total_steps > warmup_steps,
                      "schedule: expected more steps than the {} of the warm-up, found {}",
                      warmup_steps, total_steps);
}

double Schedule::at(int64_t t) const {
  require<ValueError>(t >= 1, "schedule: expected a step from 1, found {}", t);
  const auto step = static_cast<double>(t), warmup = static_cast<double>(warmup_steps);
  if (kind == Kind::kInverseSquareRoot)
    return peak * std::min(step / warmup, std::sqrt(warmup / step));
  const double share = std::clamp(
      (step - warmup) / std::max(1.0, static_cast<double>(total_steps) - warmup), 0.0, 1.0);
  if (kind == Kind::kOneCycle)
    return t <= warmup_steps ? cosine(peak / 25, peak, step / warmup)
                             : cosine(peak, peak / 250000, share);
  if (t < warmup_steps) return peak * step / warmup;
  switch (kind) {
    case Kind::kLinear: return peak + (final - peak) * share;
    case Kind::kCosine: return cosine(peak, final, share);
    default: return peak;
  }
}

}  // namespace glassformer
