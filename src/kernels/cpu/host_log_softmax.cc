#include "kernels/host_log_softmax.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/host_log_softmax.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/exp-inl.h"
#include "kernels/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// A float holds the sum of so few numbers a lane with no more than a few units of error.
constexpr int64_t kSummed = 1024;

float HostMax(const float* row, int64_t width) {
  const hn::ScalableTag<float> d;
  const auto nothing = hn::Set(d, -std::numeric_limits<float>::infinity());
  Turns most{nothing, nothing, nothing, nothing};
  ForVectorsInTurn(width, [&](int64_t i, size_t count, size_t turn) HWY_ATTR {
    const auto x = LoadSome(hn::ScalableTag<float>(), row + i, count);
    const auto above = hn::And(hn::Gt(x, most[turn]), hn::FirstN(d, count));  // NaN never is
    most[turn] = hn::IfThenElse(above, x, most[turn]);
  });
  const auto all = hn::Max(hn::Max(most[0], most[1]), hn::Max(most[2], most[3]));
  return hn::GetLane(hn::MaxOfLanes(d, all));
}

// visit(e, index, count) is shown every vector of exp(row - max); gives their sum.
template <class F>
HWY_INLINE double SumOfExp(const float* row, int64_t width, float max, F&& visit) {
  const hn::ScalableTag<float> d;
  const auto highest = hn::Set(d, max);
  double total = 0;
  for (int64_t from = 0; from < width; from += kSummed) {
    Turns sums;
    ClearTurns(sums);
    ForVectorsInTurn(std::min(kSummed, width - from), [&](int64_t i, size_t count,
                                                          size_t turn) HWY_ATTR {
      const auto x = hn::Sub(LoadSome(hn::ScalableTag<float>(), row + from + i, count), highest);
      // NaN counts for nothing.
      auto e = hn::IfThenElseZero(hn::Eq(x, x), ExpOfSmall(hn::ScalableTag<float>(), x));
      e = FirstOf(d, e, count);
      sums[turn] = hn::Add(sums[turn], e);
      visit(e, from + i, count);
    });
    total += static_cast<double>(SumTurns(sums));
  }
  return total;
}

double HostExpSum(const float* row, int64_t width, float max) {
  return SumOfExp(row, width, max, [](auto, int64_t, size_t) HWY_ATTR {});
}

double HostExpInPlace(float* row, int64_t width, float max) {
  return SumOfExp(row, width, max, [&](auto e, int64_t i, size_t count) HWY_ATTR {
    StoreSome(e, hn::ScalableTag<float>(), row + i, count);
  });
}

void HostSubtract(float* row, int64_t width, float max, float log_sum) {
  const hn::ScalableTag<float> d;
  const auto most = hn::Set(d, max), sum = hn::Set(d, log_sum);
  MapRow(row, row, width, [&](auto x, size_t) HWY_ATTR { return hn::Sub(hn::Sub(x, most), sum); });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace glassformer {
namespace cpu {
HWY_EXPORT(HostMax);
HWY_EXPORT(HostExpSum);
HWY_EXPORT(HostExpInPlace);
HWY_EXPORT(HostSubtract);
}  // namespace cpu

float row_max(std::span<const float> row) {
  using namespace cpu;
  return HWY_DYNAMIC_DISPATCH(HostMax)(row.data(), std::ssize(row));
}

double exp_in_place(std::span<float> row, float max) {
  using namespace cpu;
  return HWY_DYNAMIC_DISPATCH(HostExpInPlace)(row.data(), std::ssize(row), max);
}

LogSum log_sum_exp(std::span<const float> row) {
  using namespace cpu;
  const float max = row_max(row);
  if (max == -std::numeric_limits<float>::infinity()) return {max, 0};
  const double sum = HWY_DYNAMIC_DISPATCH(HostExpSum)(row.data(), std::ssize(row), max);
  return {max, static_cast<float>(std::log(sum))};
}

void log_softmax(std::span<float> row) {
  using namespace cpu;
  const auto [max, log_sum] = log_sum_exp(row);
  if (max == -std::numeric_limits<float>::infinity()) return;
  HWY_DYNAMIC_DISPATCH(HostSubtract)(row.data(), std::ssize(row), max, log_sum);
}

}  // namespace glassformer

#endif  // HWY_ONCE
