#include "kernels/embedding.h"

#include <algorithm>
#include <span>

#include "glassformer/base/threads.h"
#include "kernels/cpu/embedding_uses.h"
#include "kernels/indices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/embedding.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/flat-inl.h"
#include "kernels/cpu/halves-inl.h"
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
constexpr size_t kLine = 64;

// Copies two rows, side by side, and asks for two others on the way: rows at once would hold up the
// copy, and processors drop what comes faster than memory does. The loop is as short as can be: the
// more of it the processor holds at a time, the more reads are under way.
template <bool kStream>
HWY_INLINE void CopyTwoAs(const uint8_t* const* rows, const uint8_t* const* later,
                          uint8_t* const* results, size_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  size_t at = 0;
  for (; at + lanes <= bytes; at += lanes) {
    hwy::Prefetch(later[0] + at);
    hwy::Prefetch(later[1] + at);
    const auto first = hn::LoadU(d, rows[0] + at), second = hn::LoadU(d, rows[1] + at);
    if (kStream) {
      hn::Stream(first, d, results[0] + at);
      hn::Stream(second, d, results[1] + at);
    } else {
      hn::StoreU(first, d, results[0] + at);
      hn::StoreU(second, d, results[1] + at);
    }
  }
  for (int k = 0; k < 2; ++k) std::memcpy(results[k] + at, rows[k] + at, bytes - at);
}
HWY_INLINE void CopyTwo(const uint8_t* const* rows, const uint8_t* const* later,
                        uint8_t* const* results, size_t bytes, bool stream) {
  if (stream)
    CopyTwoAs<true>(rows, later, results, bytes);
  else
    CopyTwoAs<false>(rows, later, results, bytes);
}

// Floor: one read and one write of the rows.
void Embedding(const void* weight, const int64_t* ids, int64_t count, size_t row_bytes, void* y) {
  const auto* from = static_cast<const uint8_t*>(weight);
  auto* to = static_cast<uint8_t*>(y);
  const bool stream = worth_streaming(count * static_cast<int64_t>(row_bytes)) &&
                      IsStreamable(to) && row_bytes % kLine == 0;
  const int64_t ahead = RowsAhead(row_bytes);
  const int64_t grain = row_grain(static_cast<int64_t>(row_bytes / 4));
  parallel_ranges(count, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    const auto row = [&](int64_t i) HWY_ATTR {
      return from + static_cast<size_t>(ids[std::min(i, end - 1)]) * row_bytes;
    };
    for (int64_t i = begin; i < end; i += 2) {
      const int64_t last = std::min(i + 1, end - 1);  // of an odd number the last one twice
      const uint8_t *const rows[] = {row(i), row(last)}, *const later[] = {row(i + ahead),
                                                                           row(i + ahead + 1)};
      uint8_t* const results[] = {to + static_cast<size_t>(i) * row_bytes,
                                  to + static_cast<size_t>(last) * row_bytes};
      CopyTwo(rows, later, results, row_bytes, stream);
    }
    hwy::FlushStream();
  });
}

constexpr size_t kTogether = 4;       // rows that are read side by side at the most
constexpr size_t kLinesTogether = 2;  // of each

// result = the sum of some rows, added in their order; with `kAdds` after what is in `sums`, and
// without `kEnds` left there. From anywhere two rows side by side are read up to half as fast again
// as one after the other. Meanwhile as many rows at `later` are asked for.
template <class T, size_t kRows, bool kAdds, bool kEnds>
void SumTogether(const T* const* rows, const T* const* later, T* result, int64_t columns,
                 float* sums, bool stream) {
  constexpr hn::ScalableTag<float> d;
  const auto step = static_cast<int64_t>(hn::Lanes(d)), two = 2 * step;
  const T *row[kRows], *next[kRows];
  for (size_t k = 0; k < kRows; ++k) row[k] = rows[k], next[k] = later[k];
  int64_t i = 0;
  if (stream) {  // in `sums`, too, they then lie in the order of halves
    constexpr int64_t kUnits = kLinesTogether * kLine / (2 * hn::MaxLanes(d) * sizeof(T));
    for (; i + kUnits * two <= columns; i += kUnits * two) {
      Halves<hn::ScalableTag<float>> sum[kUnits];
      HWY_UNROLL(4)
      for (size_t k = 0; k < kRows; ++k) {
        for (size_t at = 0; at < kLinesTogether * kLine; at += kLine)
          hwy::Prefetch(reinterpret_cast<const uint8_t*>(next[k] + i) + at);
        HWY_UNROLL(4)
        for (int64_t u = 0; u < kUnits; ++u) {
          const Halves<hn::ScalableTag<float>> more = LoadHalves(d, row[k] + i + u * two);
          if (k == 0 && !kAdds) {
            sum[u] = more;
            continue;
          }
          const float* before = sums + i + u * two;
          if (k == 0) sum[u] = {hn::LoadU(d, before), hn::LoadU(d, before + step)};
          sum[u] = {hn::Add(sum[u].a, more.a), hn::Add(sum[u].b, more.b)};
        }
      }
      HWY_UNROLL(4)
      for (int64_t u = 0; u < kUnits; ++u) {
        const int64_t at = i + u * two;
        if (kEnds) {
          StreamHalves(sum[u], d, result + at);
        } else {
          hn::StoreU(sum[u].a, d, sums + at);
          hn::StoreU(sum[u].b, d, sums + at + step);
        }
      }
    }
  }
  ForVectors(columns - i, [&, done = i](int64_t j, size_t valid) HWY_ATTR {
    const int64_t at = done + j;
    auto sum = LoadSome(d, row[0] + at, valid);
    if (kAdds) sum = hn::Add(LoadSome(d, sums + at, valid), sum);
    for (size_t k = 0; k < kRows; ++k) {
      hwy::Prefetch(next[k] + at);
      if (k != 0) sum = hn::Add(sum, LoadSome(d, row[k] + at, valid));
    }
    if (kEnds)
      StoreSome(sum, d, result + at, valid);
    else
      StoreSome(sum, d, sums + at, valid);
  });
}

// Of each number of rows: that begin a sum or add to one, and end it or do not.
template <class T, bool kAdds, bool kEnds>
constexpr decltype(&SumTogether<T, 1, false, false>) kSums[kTogether] = {
    SumTogether<T, 1, kAdds, kEnds>, SumTogether<T, 2, kAdds, kEnds>,
    SumTogether<T, 3, kAdds, kEnds>, SumTogether<T, 4, kAdds, kEnds>};

// The rows of dweight of the ids of `uses`.
template <class T>
HWY_INLINE void SumRows(std::span<const EmbeddingUses::Use> uses, const T* dy, T* dweight,
                        int64_t width, bool stream) {
  HWY_ALIGN float sums[kColumns];
  const size_t count = uses.size();
  for (int64_t column = 0; column < width; column += kColumns) {
    const int64_t columns = std::min(kColumns, width - column);
    const auto row_at = [&](size_t i) HWY_ATTR {
      return dy + uses[std::min(i, count - 1)].place * width + column;
    };
    const auto result_of = [&](size_t i) HWY_ATTR { return dweight + uses[i].id * width + column; };
    const auto begins = [&](size_t i) HWY_ATTR {  // whether an id does
      return i == 0 || i >= count || uses[i].id != uses[i - 1].id;
    };
    const auto ahead = static_cast<size_t>(RowsAhead(static_cast<size_t>(columns) * sizeof(T)));
    for (size_t i = 0, rows = 0; i < count; i += rows) {
      for (rows = 1; rows < kTogether && !begins(i + rows);) ++rows;
      const bool adds = !begins(i), ends = begins(i + rows);
      const bool two = rows == 1 && !adds && i + 1 < count && begins(i + 2);
      if (two) rows = 2;
      const T *row[kTogether], *later[kTogether];
      for (size_t k = 0; k < rows; ++k) row[k] = row_at(i + k), later[k] = row_at(i + ahead + k);
      if (two) {
        const auto bytes_of = [](const T* p) { return reinterpret_cast<const uint8_t*>(p); };
        const uint8_t *const rows_of[] = {bytes_of(row[0]), bytes_of(row[1])},
                             *const later_of[] = {bytes_of(later[0]), bytes_of(later[1])};
        uint8_t* const results[] = {reinterpret_cast<uint8_t*>(result_of(i)),
                                    reinterpret_cast<uint8_t*>(result_of(i + 1))};
        CopyTwo(rows_of, later_of, results, static_cast<size_t>(columns) * sizeof(T), stream);
        continue;
      }
      const auto* sum = adds ? (ends ? kSums<T, true, true> : kSums<T, true, false>)
                             : (ends ? kSums<T, false, true> : kSums<T, false, false>);
      sum[rows - 1](row, later, result_of(i), columns, sums, stream);
    }
  }
}

// Floor: one write of dweight, one read of dy. Each row of dweight is summed by one task, in the
// order of the places, and written once. Rows of ids that stand nowhere are cleared by
// themselves: between two sums they would hold up what is read for the next one.
void EmbeddingBackward(const Tensor& dy_in, const Tensor& ids_in, const Tensor& dweight_out,
                       int64_t padding_idx) {
  constexpr int64_t kOfATask = 512, kTasksOfAThread = 16;
  const int64_t ids = dweight_out.size(0), width = dweight_out.size(1);
  const EmbeddingUses uses(ids_in, ids, padding_idx);
  const auto tasks = [&](int64_t count) {
    return std::min(count, std::max(count / kOfATask, kTasksOfAThread * num_threads()));
  };
  const int64_t sums = tasks(uses.count()), clears = tasks(ids);
  visit_memory_type(dweight_out.dtype(), [&]<class T>(T*) HWY_ATTR {
    const T* dy = input<T>(dy_in);
    T* dweight = output<T>(dweight_out);
    // Every row or none: what waits in sums has another order when it will be streamed.
    const bool stream =
        Streams(dweight_out) && IsStreamable(dweight) && IsStreamable(dweight + width);
    const auto clear = [&](int64_t part) HWY_ATTR {
      for (int64_t id = part * ids / clears; id < (part + 1) * ids / clears; ++id)
        if (!uses.stands_somewhere(id))
          WriteRow(dweight + id * width, width, stream,
                   [](int64_t, size_t) HWY_ATTR { return hn::Zero(hn::ScalableTag<float>()); });
    };
    parallel_tasks(sums + clears, [&](int64_t task) HWY_ATTR HWY_FLATTEN {
      if (task < sums)
        SumRows(uses.part(task, sums), dy, dweight, width, stream);
      else
        clear(task - sums);
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
