// Attention of single queries over kept keys, at the speed at which memory gives them: a task is
// one row with the heads that share a key head, so that each key and value is read once from
// memory.
#include "kernels/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/indices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/cached_attention.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/exp-inl.h"
#include "kernels/cpu/flat-inl.h"
#include "kernels/cpu/row-inl.h"
#include "kernels/cpu/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

constexpr int64_t kKeysAtATime = 64;  // of head size 64: 16 KB

// Places need not follow each other: keys are asked for so many ahead, those of the next head
// among them, and values while their keys are read.
constexpr int64_t kAhead = 12;
template <class T>
HWY_INLINE void PrefetchRow(const T* row, int64_t size) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < size; i += kLine) __builtin_prefetch(row + i);
}

// What the rows of one call share. Sizes and addresses are looked up once: a key of 64 numbers is
// multiplied in the time of a few calls.
template <class T>
struct CachedCall {
  CachedCall(const Tensor& query, const CachedAttentionInputs& inputs, const Tensor& out,
             const Tensor& lse, const CachedAttentionParams& parameters)
      : in(inputs),
        params(parameters),
        rows(query.size(0)),
        heads(query.size(1)),
        size(query.size(2)),
        key_heads(in.keys.size(0)),
        places(in.keys.size(1)),
        value_size(in.values.size(2)),
        group(heads / key_heads),
        queries(input<T>(query)),
        keys(input<T>(in.keys)),
        values(input<T>(in.values)),
        to(output<T>(out)),
        lse_to(output<float>(lse)) {}

  const T* key(int64_t place, int64_t head) const { return keys + (head * places + place) * size; }
  const T* value(int64_t place, int64_t head) const {
    return values + (head * places + place) * value_size;
  }

  // The key that is read kAhead after that of row.places[j].
  const T* key_ahead(const CachedRows::Row& row, int64_t j, int64_t head) const {
    const int64_t ahead = j + kAhead;
    if (ahead < row.count) return key(row.places[ahead], head);
    const int64_t first = std::min(row.begin + ahead - row.count, row.count - 1);
    return key(row.places[first], std::min(head + 1, key_heads - 1));
  }

  const CachedAttentionInputs& in;
  const CachedAttentionParams& params;
  const int64_t rows, heads, size, key_heads, places, value_size, group;
  const T *queries, *keys, *values;
  T* to;
  float* lse_to;
};

// scores[j] = softcap(scale · s) + biases, over the keys that the window leaves.
template <class T>
HWY_INLINE void BiasScores(const CachedCall<T>& call, const CachedRows::Row& row, int64_t h,
                           float* scores) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, static_cast<float>(call.params.scale));
  const auto cap = static_cast<float>(call.params.softcap);
  MapRow(scores + row.begin, scores + row.begin, row.count - row.begin,
         [&](auto s, size_t) HWY_ATTR {
           s = hn::Mul(s, scale);
           if (cap > 0) s = hn::Mul(Tanh(d, hn::Div(s, hn::Set(d, cap))), hn::Set(d, cap));
           return s;
         });
  const bool slopes = call.in.slopes.defined(), bias = call.in.distance_bias.defined();
  if (!slopes && !bias) return;
  const float slope = slopes ? input<float>(call.in.slopes)[h] : 0.0F;
  const float* table =
      bias ? input<float>(call.in.distance_bias) + h * call.in.distance_bias.size(1) : nullptr;
  for (int64_t j = row.begin; j < row.count; ++j) {
    const int64_t distance = row.count - 1 - j;
    scores[j] -= slope * static_cast<float>(distance);
    if (bias) scores[j] += table[distance];
  }
}

// scores become weights exp(s - highest), not yet over their sum. Gives log sum exp, and that sum.
struct Softened {
  float log_sum_exp, sum;
};
HWY_INLINE Softened Soften(float* scores, int64_t count) {
  const hn::ScalableTag<float> d;
  const float highest = RowMax(scores, count);
  if (highest == -std::numeric_limits<float>::infinity()) return {highest, 0.0F};
  const auto least = hn::Set(d, highest);
  auto sum = hn::Zero(d);
  MapRow(scores, scores, count, [&](auto s, size_t valid) HWY_ATTR {
    const auto e = ExpOfSmall(d, hn::Sub(s, least));
    sum = hn::Add(sum, FirstOf(d, e, valid));
    return e;
  });
  const float total = SumLanes(d, sum);
  return {highest + std::log(total), total};
}

// out[d] += sum over `count` keys of weight · value, kVectors vectors of the value at a time.
template <size_t kVectors, class T, class Value>
HWY_INLINE void AddValues(const float* weights, int64_t count, int64_t first, float* out,
                          const Value& value) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> sum[kVectors];
  HWY_UNROLL(4)
  for (size_t v = 0; v < kVectors; ++v) sum[v] = hn::LoadU(d, out + v * lanes);
  for (int64_t j = 0; j < count; ++j) {
    const T* from = value(j) + first;
    const auto weight = hn::Set(d, weights[j]);
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v)
      sum[v] = hn::MulAdd(weight, LoadF32(d, from + v * lanes), sum[v]);
  }
  HWY_UNROLL(4)
  for (size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, out + v * lanes);
}

template <class T, class Value>
HWY_INLINE void AddAllValues(const float* weights, int64_t count, int64_t size, float* out,
                             const Value& value) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= size; i += 4 * lanes) AddValues<4, T>(weights, count, i, out + i, value);
  for (; i + lanes <= size; i += lanes) AddValues<1, T>(weights, count, i, out + i, value);
  if (i == size) return;
  const auto rest = static_cast<size_t>(size - i);
  auto sum = LoadF32N(d, out + i, rest);
  for (int64_t j = 0; j < count; ++j)
    sum = hn::MulAdd(hn::Set(d, weights[j]), LoadF32N(d, value(j) + i, rest), sum);
  StoreF32N(sum, d, out + i, rest);
}

// The heads of one row that share key head `key_head`.
template <class T>
void AttendGroup(const CachedCall<T>& call, const CachedRows::Row& row, int64_t r,
                 int64_t key_head) {
  const int64_t group = call.group, size = call.size, value_size = call.value_size;
  const int64_t first_head = key_head * group;
  const T* queries = call.queries + (r * call.heads + first_head) * size;
  float* scores = thread_scratch<float>(Scratch::kAttentionScores,
                                        static_cast<size_t>(group * (row.count + value_size)));
  float* sums = scores + group * row.count;
  std::fill(sums, sums + group * value_size, 0.0F);
  for (int64_t j = row.begin; j < row.count; ++j) {
    const T* key = call.key(row.places[j], key_head);
    PrefetchRow(call.key_ahead(row, j, key_head), size);
    PrefetchRow(call.value(row.places[j], key_head), value_size);
    for (int64_t g = 0; g < group; ++g)
      scores[g * row.count + j] = RowDot(queries + g * size, key, size);
  }
  float inverse = 0;
  for (int64_t g = 0; g < group; ++g) {
    BiasScores(call, row, first_head + g, scores + g * row.count);
    const Softened soft = Soften(scores + g * row.count + row.begin, row.count - row.begin);
    call.lse_to[(first_head + g) * call.rows + r] = soft.log_sum_exp;
    inverse = soft.sum > 0 ? 1.0F / soft.sum : 0.0F;
    float* weights = scores + g * row.count;
    for (int64_t j = row.begin; j < row.count; ++j) weights[j] *= inverse;
  }
  for (int64_t begin = row.begin; begin < row.count; begin += kKeysAtATime) {
    const int64_t count = std::min(kKeysAtATime, row.count - begin);
    const auto value = [&](int64_t j)
                           HWY_ATTR { return call.value(row.places[begin + j], key_head); };
    for (int64_t g = 0; g < group; ++g)
      AddAllValues<T>(scores + g * row.count + begin, count, value_size, sums + g * value_size,
                      value);
  }
  T* to = call.to + (r * call.heads + first_head) * value_size;
  MapRow(static_cast<const float*>(sums), to, group * value_size,
         [](auto v, size_t) HWY_ATTR { return v; });
}

void CachedAttention(const Tensor& query, const CachedAttentionInputs& in, const Tensor& out,
                     const Tensor& lse, const CachedAttentionParams& params) {
  const CachedRows rows(query, in, params);
  const int64_t key_heads = in.keys.size(0), tasks = query.size(0) * key_heads;
  if (tasks == 0) return;
  // Multiply-adds. Few: keys and values come from memory, and two threads wait for twice as many.
  constexpr int64_t kWorthAThread = 1 << 12;
  const int64_t work = rows.total() / query.size(0) * (query.size(1) / key_heads) * query.size(2);
  visit_memory_type(query.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    const CachedCall<T> call(query, in, out, lse, params);
    parallel_ranges(
        tasks, kWorthAThread / (work + 1) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
          for (int64_t task = begin; task < end; ++task)
            AttendGroup(call, rows[task / key_heads], task / key_heads, task % key_heads);
        });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {
namespace {

HWY_EXPORT(CachedAttention);

// Heads are copied as bytes: one function for every dtype.
void store_rows(const Tensor& rows, const Tensor& places_in, const Tensor& memory) {
  const size_t bytes = static_cast<size_t>(rows.size(2)) * size_of(rows.dtype());
  const int64_t heads = rows.size(1), count = memory.size(1);
  const int64_t* places = input<int64_t>(places_in);
  check_indices(kStoreRows.name, "places", places_in, count);
  const auto address = [](const Tensor& x) {
    return x.storage()->data() + static_cast<size_t>(x.offset()) * size_of(x.dtype());
  };
  for (int64_t r = 0; r < rows.size(0); ++r)
    for (int64_t h = 0; h < heads; ++h)
      std::memcpy(address(memory) + static_cast<size_t>(h * count + places[r]) * bytes,
                  address(rows) + static_cast<size_t>(r * heads + h) * bytes, bytes);
}

}  // namespace

void register_cached_attention() {
  for (int i = 0; i < kDTypeCount; ++i)
    add_kernel(kStoreRows, Device::kCpu, static_cast<DType>(i), store_rows);
  add_fast(kCachedAttention,
           [](const Tensor& query, const CachedAttentionInputs& in, const Tensor& out,
              const Tensor& lse, const CachedAttentionParams& params) {
             HWY_DYNAMIC_DISPATCH(CachedAttention)(query, in, out, lse, params);
           });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
