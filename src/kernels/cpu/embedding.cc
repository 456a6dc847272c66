#include "kernels/embedding.h"

#include <algorithm>

#include "kernels/indices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/embedding.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/flat-inl.h"
#include "kernels/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

constexpr int64_t kRows = 64;       // of dweight in one task
constexpr int64_t kColumns = 2048;  // likewise; sums of that many stay in the first cache

// Rows come from anywhere, and the processor foresees only what lies in line: they are asked for so
// many bytes ahead. To L2, which waits for more lines at a time than L1 does.
HWY_INLINE int64_t RowsAhead(size_t row_bytes) {
  constexpr size_t kBytesAhead = 8192;
  return static_cast<int64_t>(std::max<size_t>(kBytesAhead / std::max<size_t>(row_bytes, 1), 1));
}
HWY_INLINE void FetchRow(const void* row, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64)
    __builtin_prefetch(static_cast<const uint8_t*>(row) + at, /*read*/ 0, /*to L2*/ 2);
}

// Floor: one read and one write of the rows.
void Embedding(const void* weight, const int64_t* ids, int64_t count, size_t row_bytes, void* y) {
  const auto* from = static_cast<const uint8_t*>(weight);
  auto* to = static_cast<uint8_t*>(y);
  const bool stream = worth_streaming(count * static_cast<int64_t>(row_bytes));
  const auto row_of = [&](int64_t i) { return from + static_cast<size_t>(ids[i]) * row_bytes; };
  const int64_t ahead = RowsAhead(row_bytes);
  constexpr size_t kPart = 128;  // a whole row asked for at once would hold up the copy
  const int64_t grain = row_grain(static_cast<int64_t>(row_bytes / 4));
  parallel_ranges(count, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const uint8_t *row = row_of(i), *later = row_of(std::min(i + ahead, end - 1));
      uint8_t* y_row = to + static_cast<size_t>(i) * row_bytes;
      for (size_t at = 0; at < row_bytes; at += kPart) {
        const size_t bytes = std::min(kPart, row_bytes - at);
        FetchRow(later + at, bytes);
        CopyBytes(row + at, y_row + at, bytes, stream);
      }
    }
    hwy::FlushStream();
  });
}

// y = the sum of the `count` rows of dy that `places` lists, over `columns` of their `width`
// elements. fetch(k) asks for what follows the k-th of them. `sums` is room for as many columns.
template <class T, class F>
HWY_INLINE void SumRows(const T* dy, const int64_t* places, int64_t count, int64_t width,
                        int64_t columns, F&& fetch, float* sums, T* y, bool stream) {
  const hn::ScalableTag<float> d;
  if (count == 0)
    return WriteRow(y, columns, stream, [&](int64_t, size_t) HWY_ATTR { return hn::Zero(d); });
  fetch(0);
  if (count == 1)
    return CopyBytes(reinterpret_cast<const uint8_t*>(dy + places[0] * width),
                     reinterpret_cast<uint8_t*>(y), static_cast<size_t>(columns) * sizeof(T),
                     stream);
  MapRow(dy + places[0] * width, sums, columns, [](auto v, size_t) HWY_ATTR { return v; });
  for (int64_t k = 1; k + 1 < count; ++k) {
    fetch(k);
    MapRows(sums, dy + places[k] * width, sums, columns,
            [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
  }
  fetch(count - 1);
  const T* last = dy + places[count - 1] * width;
  WriteRow(y, columns, stream, [&](int64_t i, size_t valid) HWY_ATTR {
    return hn::Add(LoadSome(d, sums + i, valid), LoadSome(d, last + i, valid));
  });
}

// Floor: one write of dweight, one read of dy. The places of each id are listed first (a counting
// sort), so that each row of dweight is summed by one task, in the order of the places, and written
// once.
void EmbeddingBackward(const Tensor& dy_in, const Tensor& ids_in, const Tensor& dweight_out,
                       int64_t padding_idx) {
  const int64_t vocabulary = dweight_out.size(0), width = dweight_out.size(1);
  const int64_t* ids = input<int64_t>(ids_in);
  const Tensor lists = empty({vocabulary + 1 + ids_in.count()}, ids_in.options());
  int64_t *ends = output<int64_t>(lists), *places = ends + vocabulary + 1;
  std::fill(ends, places, 0);
  for (int64_t i = 0; i < ids_in.count(); ++i)
    if (ids[i] != padding_idx) ++ends[ids[i] + 1];
  for (int64_t v = 1; v <= vocabulary; ++v) ends[v] += ends[v - 1];
  const int64_t last = ends[vocabulary] - 1;
  // Now ends[v] is where v's places start; filling them in moves it to where they end.
  for (int64_t i = 0; i < ids_in.count(); ++i)
    if (ids[i] != padding_idx) places[ends[ids[i]]++] = i;
  const bool stream = Streams(dweight_out);
  const int64_t strips = (width + kColumns - 1) / kColumns;
  const int64_t blocks = (vocabulary + kRows - 1) / kRows;
  visit_memory_type(dweight_out.dtype(), [&]<class T>(T*) HWY_ATTR {
    parallel_tasks(blocks * strips, [&](int64_t task) HWY_ATTR HWY_FLATTEN {
      HWY_ALIGN float sums[kColumns];
      const int64_t first = task % strips * kColumns, columns = std::min(kColumns, width - first);
      const int64_t begin = task / strips * kRows, end = std::min(vocabulary, begin + kRows);
      const T* dy = input<T>(dy_in) + first;
      T* dweight = output<T>(dweight_out) + first;
      const size_t row_bytes = static_cast<size_t>(columns) * sizeof(T);
      const int64_t ahead = RowsAhead(row_bytes);
      for (int64_t v = begin; v < end; ++v) {
        const int64_t start = v == 0 ? 0 : ends[v - 1], stop = ends[v];
        // Inlined by force: the compiler drops calls of functions that do nothing but prefetch.
        const auto fetch = [&](int64_t k) HWY_ATTR __attribute__((always_inline)) {
          FetchRow(dy + places[std::min(start + k + ahead, last)] * width, row_bytes);
        };
        SumRows(dy, places + start, stop - start, width, columns, fetch, sums, dweight + v * width,
                stream);
      }
      hwy::FlushStream();
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(Embedding);
HWY_EXPORT(EmbeddingBackward);

void register_embedding() {
  const auto embedding = [](const Tensor& weight, const Tensor& ids, const Tensor& y) {
    check_indices(kEmbedding.name, "ids", ids, weight.size(0));
    const size_t size = size_of(weight.dtype());
    HWY_DYNAMIC_DISPATCH(Embedding)
    (input<uint8_t>(weight) + static_cast<size_t>(weight.offset()) * (size - 1),
     input<int64_t>(ids), ids.count(), static_cast<size_t>(weight.size(1)) * size,
     output<uint8_t>(y) + static_cast<size_t>(y.offset()) * (size - 1));
  };
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16})
    add_kernel(kEmbedding, Device::kCpu, dtype, +embedding);
  add_fast(kEmbeddingBackward,
           [](const Tensor& dy, const Tensor& ids, const Tensor& dweight, int64_t padding_idx) {
             HWY_DYNAMIC_DISPATCH(EmbeddingBackward)(dy, ids, dweight, padding_idx);
           });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
