#include "kernels/relative_positions.h"

#include <algorithm>
#include <vector>

#include "kernels/indices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/relative_positions.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

void AlibiBias(const Tensor& slopes_in, const Tensor& y_out, int64_t offset) {
  const int64_t queries = y_out.size(1);
  const hn::ScalableTag<float> d;
  ForRows(y_out, [&](auto* type, int64_t width, int64_t row) HWY_ATTR {
    auto* y = RowOf(type, y_out, row, width);
    const auto slope =
        hn::Set(d, hn::GetLane(LoadSome(d, RowOf(type, slopes_in, row / queries, 1), 1)));
    const int64_t first = -(row % queries) - offset;
    ForVectors(width, [&](int64_t j, size_t count) HWY_ATTR {
      const auto distance = hn::Iota(d, static_cast<float>(first + j));
      StoreSome(hn::Mul(slope, distance), d, y + j, count);
    });
  });
}

// Far from the diagonal whole stretches of a row share a bucket, so that both directions work run
// by run: a constant to fill in, or a stretch of dy to add up.
struct Run {
  int64_t begin, end, index;
};

HWY_INLINE std::vector<Run> RunsOf(const Tensor& indices_in) {
  const int64_t* indices = input<int64_t>(indices_in);
  std::vector<Run> runs;
  for (int64_t k = 0; k < indices_in.count(); ++k) {
    if (runs.empty() || runs.back().index != indices[k]) runs.push_back({k, k, indices[k]});
    ++runs.back().end;
  }
  return runs;
}

void RelativeBias(const Tensor& table, const Tensor& indices, const Tensor& y_out) {
  check_indices("relative_bias", "buckets", indices, table.size(0));
  const int64_t heads = table.size(1), count = indices.count();
  const std::vector<Run> runs = RunsOf(indices);
  visit_memory_type(table.dtype(), [&]<class T>(T*) HWY_ATTR {
    parallel_ranges(heads, row_grain(count), [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t h = begin; h < end; ++h) {
        T* y = output<T>(y_out) + h * count;
        for (const Run& run : runs)
          std::fill(y + run.begin, y + run.end, input<T>(table)[run.index * heads + h]);
      }
    });
  });
}

void RelativeBiasBackward(const Tensor& dy_in, const Tensor& indices, const Tensor& dtable_out) {
  const int64_t buckets = dtable_out.size(0), heads = dtable_out.size(1), count = indices.count();
  const std::vector<Run> runs = RunsOf(indices);
  const hn::ScalableTag<float> d;
  visit_memory_type(dy_in.dtype(), [&]<class T>(T*) HWY_ATTR {
    parallel_ranges(heads, row_grain(count), [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t h = begin; h < end; ++h) {
        const T* dy = input<T>(dy_in) + h * count;
        std::vector<double> sums(static_cast<size_t>(buckets), 0.0);
        for (const Run& run : runs) {
          auto sum = hn::Zero(d);
          ReadRow(dy + run.begin, run.end - run.begin,
                  [&](auto v, size_t) HWY_ATTR { sum = hn::Add(sum, v); });
          sums[static_cast<size_t>(run.index)] += SumLanes(d, sum);
        }
        for (int64_t b = 0; b < buckets; ++b)
          StoreSome(hn::Set(d, static_cast<float>(sums[static_cast<size_t>(b)])), d,
                    output<T>(dtable_out) + b * heads + h, 1);
      }
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(AlibiBias);
HWY_EXPORT(RelativeBias);
HWY_EXPORT(RelativeBiasBackward);

void register_relative_positions() {
  add_fast(kAlibiBias, [](const Tensor& slopes, const Tensor& y, int64_t offset) {
    HWY_DYNAMIC_DISPATCH(AlibiBias)(slopes, y, offset);
  });
  add_fast(kRelativeBias, [](const Tensor& table, const Tensor& indices, const Tensor& y) {
    HWY_DYNAMIC_DISPATCH(RelativeBias)(table, indices, y);
  });
  add_fast(kRelativeBiasBackward,
           [](const Tensor& dy, const Tensor& indices, const Tensor& dtable) {
             HWY_DYNAMIC_DISPATCH(RelativeBiasBackward)(dy, indices, dtable);
           });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
