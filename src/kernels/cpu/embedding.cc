#include "kernels/embedding.h"

#include <algorithm>

#include "kernels/cpu/embedding_uses.h"
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

constexpr int64_t kColumns = 2048;  // of dweight in one task: their sums stay in the first cache

// Rows come from anywhere, and the processor foresees only what lies in line: they are asked for so
// many bytes ahead. (4 to 16 KB make no difference, 32 are too many.)
HWY_INLINE int64_t RowsAhead(size_t row_bytes) {
  constexpr size_t kBytesAhead = 8192;
  return static_cast<int64_t>(std::max<size_t>(kBytesAhead / std::max<size_t>(row_bytes, 1), 1));
}
constexpr int kToFirstCache = 3;
constexpr size_t kLine = 64;

// Copies a row and asks for another on the way: a whole row asked for at once would hold up the
// copy, and processors drop what comes faster than memory does. The loop is as short as can be: the
// more of it the processor holds at a time, the more reads are under way (a tenth of the time).
template <bool kStream>
HWY_INLINE void CopyRowAs(const uint8_t* row, uint8_t* y, size_t bytes, const uint8_t* later) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d), part = 2 * lanes;
  size_t at = 0;
  for (; at + part <= bytes; at += part) {
    __builtin_prefetch(later + at, /*read*/ 0, kToFirstCache);
    if (lanes >= kLine) __builtin_prefetch(later + at + lanes, /*read*/ 0, kToFirstCache);
    const auto first = hn::LoadU(d, row + at), second = hn::LoadU(d, row + at + lanes);
    if (kStream) {
      hn::Stream(first, d, y + at);
      hn::Stream(second, d, y + at + lanes);
    } else {
      hn::StoreU(first, d, y + at);
      hn::StoreU(second, d, y + at + lanes);
    }
  }
  if (at < bytes) {
    __builtin_prefetch(later + at, /*read*/ 0, kToFirstCache);
    std::memcpy(y + at, row + at, bytes - at);
  }
}
HWY_INLINE void CopyRow(const void* row, void* y, size_t bytes, bool stream, const void* later) {
  const auto *from = static_cast<const uint8_t*>(row), *ahead = static_cast<const uint8_t*>(later);
  auto* to = static_cast<uint8_t*>(y);
  if (stream && reinterpret_cast<uintptr_t>(y) % kLine == 0)
    CopyRowAs<true>(from, to, bytes, ahead);
  else
    CopyRowAs<false>(from, to, bytes, ahead);
}

// Floor: one read and one write of the rows.
void Embedding(const void* weight, const int64_t* ids, int64_t count, size_t row_bytes, void* y) {
  const auto* from = static_cast<const uint8_t*>(weight);
  auto* to = static_cast<uint8_t*>(y);
  const bool stream = worth_streaming(count * static_cast<int64_t>(row_bytes));
  const auto row_of = [&](int64_t i) { return from + static_cast<size_t>(ids[i]) * row_bytes; };
  const int64_t ahead = RowsAhead(row_bytes);
  const int64_t grain = row_grain(static_cast<int64_t>(row_bytes / 4));
  parallel_ranges(count, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i)
      CopyRow(row_of(i), to + static_cast<size_t>(i) * row_bytes, row_bytes, stream,
              row_of(std::min(i + ahead, end - 1)));
    hwy::FlushStream();
  });
}

// y = the sum of the `count` rows row(0), row(1), ... over `columns` elements, added in that order.
// While row(k) is read, or zeros are written where there are no rows, the row at ahead(k) is asked
// for. `sums` is room for as many columns.
template <class T, class F, class A>
HWY_INLINE void SumRows(F&& row, int64_t count, A&& ahead, int64_t columns, float* sums, T* y,
                        bool stream) {
  const hn::ScalableTag<float> d;
  if (count == 0)
    return WriteRow(y, columns, stream, [&, later = ahead(0)](int64_t i, size_t) HWY_ATTR {
      __builtin_prefetch(later + i, 0, kToFirstCache);
      return hn::Zero(d);
    });
  if (count == 1)
    return CopyRow(row(0), y, static_cast<size_t>(columns) * sizeof(T), stream, ahead(0));
  // Addresses first: what is written might be where they are looked up.
  const auto reader = [&](int64_t k) HWY_ATTR {
    return [&d, from = row(k), later = ahead(k)](int64_t i, size_t valid) HWY_ATTR {
      __builtin_prefetch(later + i, /*read*/ 0, /*to L2*/ 2);
      return LoadSome(d, from + i, valid);
    };
  };
  const auto first = reader(0), second = reader(1);
  if (count == 2)
    return WriteRow(y, columns, stream, [&](int64_t i, size_t valid) HWY_ATTR {
      return hn::Add(first(i, valid), second(i, valid));
    });
  ForVectors(columns, [&](int64_t i, size_t valid) HWY_ATTR {
    StoreSome(hn::Add(first(i, valid), second(i, valid)), d, sums + i, valid);
  });
  for (int64_t k = 2; k + 1 < count; ++k) {
    const auto next = reader(k);
    ForVectors(columns, [&](int64_t i, size_t valid) HWY_ATTR {
      StoreSome(hn::Add(LoadSome(d, sums + i, valid), next(i, valid)), d, sums + i, valid);
    });
  }
  const auto last = reader(count - 1);
  WriteRow(y, columns, stream, [&](int64_t i, size_t valid) HWY_ATTR {
    return hn::Add(LoadSome(d, sums + i, valid), last(i, valid));
  });
}

// The rows of dweight of one block of ids.
template <class T>
HWY_INLINE void SumBlock(const EmbeddingUses& uses, int64_t block, const T* dy, T* dweight,
                         int64_t width, bool stream) {
  HWY_ALIGN float sums[kColumns];
  int64_t ends[EmbeddingUses::kMostRows];
  const auto [first, end] = uses.rows(block);
  const std::span<const int64_t> places = uses.sort(block, ends);
  const auto last = static_cast<int64_t>(places.size()) - 1;
  for (int64_t column = 0; column < width; column += kColumns) {
    const int64_t columns = std::min(kColumns, width - column);
    const int64_t distance = RowsAhead(static_cast<size_t>(columns) * sizeof(T));
    // Beyond the last one it is wanted only to be asked for.
    const auto row_at = [&](int64_t i) HWY_ATTR {
      return last < 0 ? dy : dy + places[static_cast<size_t>(std::min(i, last))] * width + column;
    };
    int64_t start = 0, asked = 0;  // places: summed up before this row, asked for
    for (int64_t v = first; v < end; ++v) {
      const int64_t count = ends[v - first] - start;
      const auto row = [&](int64_t k) HWY_ATTR { return row_at(start + k); };
      // One more each time, so that memory is asked as evenly as it is used.
      const auto ahead = [&](int64_t k) HWY_ATTR {
        return row_at(asked = std::min(asked + 1, start + k + 2 * distance));
      };
      SumRows(row, count, ahead, columns, sums, dweight + v * width + column, stream);
      start += count;
    }
  }
  hwy::FlushStream();
}

// Floor: one write of dweight, one read of dy. Each row of dweight is summed by one task, in the
// order of the places, and written once.
void EmbeddingBackward(const Tensor& dy_in, const Tensor& ids_in, const Tensor& dweight_out,
                       int64_t padding_idx) {
  const EmbeddingUses uses(ids_in, dweight_out.size(0), padding_idx);
  const bool stream = Streams(dweight_out);
  visit_memory_type(dweight_out.dtype(), [&]<class T>(T*) HWY_ATTR {
    const T* dy = input<T>(dy_in);
    T* dweight = output<T>(dweight_out);
    parallel_tasks(uses.blocks(), [&](int64_t block) HWY_ATTR HWY_FLATTEN {
      SumBlock(uses, block, dy, dweight, dweight_out.size(1), stream);
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
