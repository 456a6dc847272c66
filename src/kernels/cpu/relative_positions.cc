#include "kernels/relative_positions.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/indices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/relative_positions.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

void AlibiBias(const Tensor& slopes_in, const Tensor& y_out, int64_t offset) {
  const int64_t queries = y_out.size(1);
  const hn::ScalableTag<float> d;
  const auto of_row = [&]<class T>(int64_t width, int64_t row, T* y) HWY_ATTR {
    const auto slope = hn::Set(d, hn::GetLane(LoadSome(d, input<T>(slopes_in) + row / queries, 1)));
    const int64_t first = -(row % queries) - offset;
    ForVectors(width, [&](int64_t j, size_t count) HWY_ATTR {
      const auto distance = hn::Iota(d, static_cast<float>(first + j));
      StoreSome(hn::Mul(slope, distance), d, y + j, count);
    });
  };
  ForRows(of_row, y_out);
}

// The bucket of a pair mostly depends on its distance alone. Then a head's bias is one line of
// Tq + Tk - 1 numbers of which every row shows a stretch: row i begins at Tq - 1 - i. The line
// stays in the first cache, and both directions move at the speed of memory.
HWY_INLINE bool DiagonalsAreConstant(const Tensor& indices_in) {
  const int64_t* indices = input<int64_t>(indices_in);
  const int64_t queries = indices_in.size(0), keys = indices_in.size(1);
  for (int64_t i = 1; i < queries; ++i)
    if (keys > 1 &&
        !std::equal(indices + i * keys + 1, indices + (i + 1) * keys, indices + (i - 1) * keys))
      return false;
  return true;
}

// The index at place k of the line: from the first row on the right, the first column on the left.
HWY_INLINE int64_t LineIndex(const Tensor& indices_in, int64_t k) {
  const int64_t queries = indices_in.size(0), keys = indices_in.size(1);
  return input<int64_t>(
      indices_in)[k >= queries - 1 ? k - (queries - 1) : (queries - 1 - k) * keys];
}

void RelativeBias(const Tensor& table_in, const Tensor& indices_in, const Tensor& y_out) {
  check_indices("relative_bias", "buckets", indices_in, table_in.size(0));
  const int64_t heads = table_in.size(1), count = indices_in.count();
  if (count == 0) return;
  const int64_t queries = indices_in.size(0), keys = indices_in.size(1);
  const bool in_line = DiagonalsAreConstant(indices_in);
  visit_memory_type(table_in.dtype(), [&]<class T>(T*) HWY_ATTR {
    const T* table = input<T>(table_in);
    parallel_tasks(heads, [&](int64_t h) HWY_ATTR {
      T* y = output<T>(y_out) + h * count;
      if (!in_line) {
        const int64_t* indices = input<int64_t>(indices_in);
        for (int64_t k = 0; k < count; ++k) y[k] = table[indices[k] * heads + h];
        return;
      }
      std::vector<T> line(static_cast<size_t>(queries + keys - 1));
      for (size_t k = 0; k < line.size(); ++k)
        line[k] = table[LineIndex(indices_in, static_cast<int64_t>(k)) * heads + h];
      for (int64_t i = 0; i < queries; ++i)
        std::memcpy(y + i * keys, line.data() + queries - 1 - i,
                    static_cast<size_t>(keys) * sizeof(T));
    });
  });
}

void RelativeBiasBackward(const Tensor& dy_in, const Tensor& indices_in, const Tensor& dtable_out) {
  const int64_t buckets = dtable_out.size(0), heads = dtable_out.size(1);
  const int64_t queries = indices_in.size(0), keys = indices_in.size(1), count = indices_in.count();
  const bool in_line = count > 0 && DiagonalsAreConstant(indices_in);
  const hn::ScalableTag<float> d;
  visit_memory_type(dy_in.dtype(), [&]<class T>(T*) HWY_ATTR {
    parallel_tasks(heads, [&](int64_t h) HWY_ATTR {
      const T* dy = input<T>(dy_in) + h * count;
      std::vector<double> sums(static_cast<size_t>(buckets), 0.0);
      if (in_line) {
        std::vector<float> line(static_cast<size_t>(queries + keys - 1), 0.0F);
        for (int64_t i = 0; i < queries; ++i) {
          float* stretch = line.data() + queries - 1 - i;
          MapRows(stretch, dy + i * keys, stretch, keys,
                  [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
        }
        for (size_t k = 0; k < line.size(); ++k)
          sums[static_cast<size_t>(LineIndex(indices_in, static_cast<int64_t>(k)))] += line[k];
      } else {
        const int64_t* indices = input<int64_t>(indices_in);
        for (int64_t k = 0; k < count; ++k)
          sums[static_cast<size_t>(indices[k])] +=
              hn::GetLane(LoadSome(hn::CappedTag<float, 1>(), dy + k, 1));
      }
      for (int64_t b = 0; b < buckets; ++b)
        StoreSome(hn::Set(d, static_cast<float>(sums[static_cast<size_t>(b)])), d,
                  output<T>(dtable_out) + b * heads + h, 1);
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
