#include "decoding/sampling.h"

#include <cmath>
#include <limits>

#include "base/philox.h"

namespace glassformer {

double uniform(RandomKey key, uint64_t counter) {
  const auto words = philox_block(key, counter);
  const uint64_t bits = (static_cast<uint64_t>(words[0]) << 32 | words[1]) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

int32_t draw(std::span<const float> weights, double sum, double u) {
  const double target = u * sum;
  double total = 0;
  size_t last = 0;  // rounding may leave the total just below the sum
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    total += static_cast<double>(weights[i]);
    last = i;
    if (total > target) break;
  }
  return static_cast<int32_t>(last);
}

void add_gumbel_noise(std::span<float> scores, RandomKey key, uint64_t row) {
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!(scores[i] > -std::numeric_limits<float>::infinity())) continue;
    const double u = uniform(key, row * scores.size() + i);
    scores[i] -= static_cast<float>(std::log(-std::log(u)));
  }
}

}  // namespace glassformer
