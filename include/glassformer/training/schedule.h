#pragma once

#include <cstdint>
#include <string>

namespace glassformer {

// The learning rate over the steps t = 1, 2, … of `total_steps`. All but kInverseSquareRoot and
// kOneCycle climb from 0 in a line over the first `warmup_steps`.
struct Schedule {
  enum class Kind : uint8_t {
    kConstant,           // peak
    kLinear,             // down to `final` at the end
    kCosine,             // the same along half a cosine
    kInverseSquareRoot,  // peak · min(t / warmup, sqrt(warmup / t)), as in 2017
    kOneCycle            // cosine up from peak / 25 over the warm-up, then down to peak / 250,000
  };
  Kind kind = Kind::kConstant;
  double peak = 1e-3;
  double final = 0;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;

  // Throws ValueError for t < 1.
  double at(int64_t t) const;
  // Throws ValueError for numbers that make no schedule.
  void check() const;
};

Schedule::Kind schedule_kind(const std::string& name);  // "inverse_square_root", ...

}  // namespace glassformer
