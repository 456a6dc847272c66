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

// A row that is added to the sum of its id, and where that goes once it `ends`.
template <class T>
struct Summand {
  const T* row;
  T* result;
  bool ends;
};
enum class Second { kNone, kGoesOn, kEnds };

// Two rows that follow one another in a walk, read side by side: from anywhere, that is up to half
// as fast again as one after the other. With `kAdds` the first one goes on with what is in `sums`,
// and there the second one leaves what does not end. Meanwhile the rows at `later` are asked for.
template <class T, bool kAdds, bool kFirstEnds, Second kSecond>
void SumTwo(const Summand<T>& first, const Summand<T>& second, const T* const* later,
            int64_t columns, float* sums, bool stream) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto step = static_cast<int64_t>(lanes), two = 2 * step;
  const T *one = first.row, *other = second.row, *later_one = later[0], *later_other = later[1];
  T *one_result = first.result, *other_result = second.result;
  int64_t i = 0;
  if (stream) {
    for (; i + two <= columns; i += two) {
      for (size_t at = 0; at < 2 * lanes * sizeof(T); at += kLine) {
        hwy::Prefetch(reinterpret_cast<const uint8_t*>(later_one + i) + at);
        hwy::Prefetch(reinterpret_cast<const uint8_t*>(later_other + i) + at);
      }
      // In `sums`, too, they lie in the order of halves.
      Halves<hn::ScalableTag<float>> sum = LoadHalves(d, one + i);
      if (kAdds) {
        sum.a = hn::Add(hn::LoadU(d, sums + i), sum.a);
        sum.b = hn::Add(hn::LoadU(d, sums + i + step), sum.b);
      }
      if (kFirstEnds) StreamHalves(sum, d, one_result + i);
      if (kSecond == Second::kNone) continue;
      const Halves<hn::ScalableTag<float>> more = LoadHalves(d, other + i);
      sum = kFirstEnds
                ? more
                : Halves<hn::ScalableTag<float>>{hn::Add(sum.a, more.a), hn::Add(sum.b, more.b)};
      if (kSecond == Second::kEnds) {
        StreamHalves(sum, d, other_result + i);
      } else {
        hn::StoreU(sum.a, d, sums + i);
        hn::StoreU(sum.b, d, sums + i + step);
      }
    }
  }
  ForVectors(columns - i, [&, done = i](int64_t j, size_t valid) HWY_ATTR {
    const int64_t at = done + j;
    hwy::Prefetch(later_one + at);
    hwy::Prefetch(later_other + at);
    auto sum = LoadSome(d, one + at, valid);
    if (kAdds) sum = hn::Add(LoadSome(d, sums + at, valid), sum);
    if (kFirstEnds) StoreSome(sum, d, one_result + at, valid);
    if (kSecond == Second::kNone) return;
    const auto more = LoadSome(d, other + at, valid);
    sum = kFirstEnds ? more : hn::Add(sum, more);
    if (kSecond == Second::kEnds)
      StoreSome(sum, d, other_result + at, valid);
    else
      StoreSome(sum, d, sums + at, valid);
  });
}

template <class T, bool kAdds, bool kFirstEnds>
constexpr decltype(&SumTwo<T, false, false, Second::kNone>) kSumTwo[] = {
    SumTwo<T, kAdds, kFirstEnds, Second::kNone>, SumTwo<T, kAdds, kFirstEnds, Second::kGoesOn>,
    SumTwo<T, kAdds, kFirstEnds, Second::kEnds>};

// The rows of dweight of the ids of `uses`.
template <class T>
HWY_INLINE void SumRows(std::span<const EmbeddingUses::Use> uses, const T* dy, T* dweight,
                        int64_t width, bool stream) {
  HWY_ALIGN float sums[kColumns];
  const size_t count = uses.size();
  for (int64_t column = 0; column < width; column += kColumns) {
    const int64_t columns = std::min(kColumns, width - column);
    const auto summand = [&](size_t i) HWY_ATTR {
      const auto [place, id] = uses[std::min(i, count - 1)];
      return Summand<T>{dy + place * width + column, dweight + id * width + column,
                        i + 1 >= count || uses[i + 1].id != id};
    };
    const auto ahead = static_cast<size_t>(RowsAhead(static_cast<size_t>(columns) * sizeof(T)));
    bool adds = false;
    for (size_t i = 0; i < count; i += 2) {
      const Summand<T> first = summand(i), second = summand(i + 1);
      const T* later[2] = {summand(i + ahead).row, summand(i + ahead + 1).row};
      const auto how = static_cast<size_t>(i + 1 == count ? Second::kNone
                                           : second.ends  ? Second::kEnds
                                                          : Second::kGoesOn);
      const auto* sum = adds ? (first.ends ? kSumTwo<T, true, true> : kSumTwo<T, true, false>)
                             : (first.ends ? kSumTwo<T, false, true> : kSumTwo<T, false, false>);
      sum[how](first, second, later, columns, sums, stream);
      adds = !second.ends;
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
