#include "decoding/log_softmax.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace glassformer {
namespace {

// Sums and maxima run in this many lanes, so that the compiler may use vectors without changing
// the order of additions. GCC unrolls loops of up to 16, and then finds no vectors in them.
constexpr size_t kLanes = 32;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// e^x for x <= 0 to a relative 1e-7, without a branch: 2^n · e^r with |r| <= ln 2 / 2.
inline float exp_nonpositive(float x) {
  constexpr float kLowest = -87.0F;                 // below it the result is a denormal; we give 0
  constexpr float kRound = 12582912.0F;             // 1.5·2^23: adding it rounds to a whole number
  const float bounded = x > kLowest ? x : kLowest;  // NaN: the lowest
  const float n = (bounded * 1.44269504F + kRound) - kRound;
  const float r = (bounded - n * 0.693359375F) + n * 2.12194440e-4F;  // ln 2 in two parts
  float p = 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1;
  p = p * r + 1;
  const auto power = std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
  return x > kLowest ? p * power : 0;
}

// A float holds the sum of so few numbers with no more than a few units of error.
constexpr size_t kBlock = kLanes * 32;

double sum_of_block(std::span<const float> block) {
  float lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= block.size(); i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += block[i + lane];
  double total = 0;
  for (const float lane : lanes) total += static_cast<double>(lane);
  for (; i < block.size(); ++i) total += static_cast<double>(block[i]);
  return total;
}

}  // namespace

float row_max(std::span<const float> row) {
  float lanes[kLanes];
  std::fill(lanes, lanes + kLanes, -kInfinity);
  size_t i = 0;
  for (; i + kLanes <= row.size(); i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = row[i + lane] > lanes[lane] ? row[i + lane] : lanes[lane];
  float max = *std::max_element(lanes, lanes + kLanes);
  for (; i < row.size(); ++i) max = row[i] > max ? row[i] : max;
  return max;
}

LogSum log_sum_exp(std::span<const float> row) {
  const float max = row_max(row);
  if (max == -kInfinity) return {max, 0};
  float block[kBlock];
  double sum = 0;
  for (size_t from = 0; from < row.size(); from += kBlock) {
    const auto part = row.subspan(from, std::min(kBlock, row.size() - from));
    std::copy(part.begin(), part.end(), block);
    sum += exp_in_place({block, part.size()}, max);
  }
  return {max, static_cast<float>(std::log(sum))};
}

void log_softmax(std::span<float> row) {
  const auto [max, log_sum] = log_sum_exp(row);
  if (max == -kInfinity) return;
  for (float& x : row) x = (x - max) - log_sum;
}

double exp_in_place(std::span<float> row, float max) {
  for (float& x : row) x = exp_nonpositive(x - max);
  double sum = 0;
  for (size_t from = 0; from < row.size(); from += kBlock)
    sum += sum_of_block(row.subspan(from, std::min(kBlock, row.size() - from)));
  return sum;
}

}  // namespace glassformer
