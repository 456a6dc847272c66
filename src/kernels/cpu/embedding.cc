#include "kernels/embedding.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/indices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/embedding.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

constexpr int64_t kRows = 64;      // of dweight in one task
constexpr int64_t kColumns = 512;  // likewise; sums of that many stay in the first cache

// y = the sum of the `count` rows of dy that `places` lists, over `columns` of their `width`
// elements. `sums` is room for as many.
template <class T>
HWY_INLINE void SumRows(const T* dy, const int64_t* places, int64_t count, int64_t width,
                        int64_t columns, float* sums, T* y) {
  if (count == 0) {
    std::memset(y, 0, static_cast<size_t>(columns) * sizeof(T));
    return;
  }
  if (count == 1) {
    std::memcpy(y, dy + places[0] * width, static_cast<size_t>(columns) * sizeof(T));
    return;
  }
  MapRow(dy + places[0] * width, sums, columns, [](auto v, size_t) HWY_ATTR { return v; });
  const auto add = [&](int64_t place, auto* out) HWY_ATTR {
    MapRows(sums, dy + place * width, out, columns,
            [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
  };
  for (int64_t k = 1; k + 1 < count; ++k) add(places[k], sums);
  add(places[count - 1], y);
}

// Floor: one write of dweight, one read of dy. The places of each id are listed first (a counting
// sort), so that each row of dweight is summed by one task, in the order of the places, and written
// once.
void EmbeddingBackward(const Tensor& dy_in, const Tensor& ids_in, const Tensor& dweight_out,
                       int64_t padding_idx) {
  const int64_t vocabulary = dweight_out.size(0), width = dweight_out.size(1);
  const int64_t* ids = input<int64_t>(ids_in);
  std::vector<int64_t> ends(static_cast<size_t>(vocabulary) + 1, 0);
  std::vector<int64_t> places(static_cast<size_t>(ids_in.count()));
  for (int64_t i = 0; i < ids_in.count(); ++i)
    if (ids[i] != padding_idx) ++ends[static_cast<size_t>(ids[i]) + 1];
  for (size_t v = 1; v < ends.size(); ++v) ends[v] += ends[v - 1];
  // Now ends[v] is where v's places start; filling them in moves it to where they end.
  for (int64_t i = 0; i < ids_in.count(); ++i)
    if (ids[i] != padding_idx) places[static_cast<size_t>(ends[static_cast<size_t>(ids[i])]++)] = i;
  const int64_t strips = (width + kColumns - 1) / kColumns;
  const int64_t blocks = (vocabulary + kRows - 1) / kRows;
  visit_memory_type(dweight_out.dtype(), [&]<class T>(T*) HWY_ATTR {
    parallel_tasks(blocks * strips, [&](int64_t task) HWY_ATTR {
      HWY_ALIGN float sums[kColumns];
      const int64_t first = task % strips * kColumns, columns = std::min(kColumns, width - first);
      const int64_t begin = task / strips * kRows, end = std::min(vocabulary, begin + kRows);
      for (int64_t v = begin; v < end; ++v) {
        const int64_t start = v == 0 ? 0 : ends[static_cast<size_t>(v) - 1];
        SumRows(input<T>(dy_in) + first, places.data() + start,
                ends[static_cast<size_t>(v)] - start, width, columns, sums,
                output<T>(dweight_out) + v * width + first);
      }
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "hwy/cache_control.h"
#include "kernels/cpu/register.h"

namespace glassformer::cpu {
namespace {

template <class T>
void embedding(const Tensor& weight, const Tensor& ids_in, const Tensor& y) {
  check_indices("embedding", "ids", ids_in, weight.size(0));
  const int64_t* ids = input<int64_t>(ids_in);
  const int64_t width = weight.size(1);
  const T* from = input<T>(weight);
  T* to = output<T>(y);
  // Rows come from anywhere, so the next one is asked for while this one is copied: the processor
  // foresees only what lies in line.
  const int64_t line = 64 / static_cast<int64_t>(sizeof(T)), ahead = std::min(width, 16 * line);
  parallel_ranges(ids_in.count(), row_grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* next = from + ids[std::min(i + 1, end - 1)] * width;
      for (int64_t j = 0; j < ahead; j += line) hwy::Prefetch(next + j);
      std::memcpy(to + i * width, from + ids[i] * width, static_cast<size_t>(width) * sizeof(T));
    }
  });
}

}  // namespace

HWY_EXPORT(EmbeddingBackward);

void register_embedding() {
  add_kernel(kEmbedding, Device::kCpu, DType::kFloat32, embedding<uint32_t>);
  add_kernel(kEmbedding, Device::kCpu, DType::kFloat64, embedding<uint64_t>);
  add_kernel(kEmbedding, Device::kCpu, DType::kBFloat16, embedding<uint16_t>);
  add_kernel(kEmbedding, Device::kCpu, DType::kFloat16, embedding<uint16_t>);
  add_fast(kEmbeddingBackward,
           [](const Tensor& dy, const Tensor& ids, const Tensor& dweight, int64_t padding_idx) {
             HWY_DYNAMIC_DISPATCH(EmbeddingBackward)(dy, ids, dweight, padding_idx);
           });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
