#include "kernels/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/access.h"
#include "kernels/indices.h"
#include "kernels/ref/register.h"
#include "tensor/convert.h"

namespace glassformer::ref {
namespace {

template <class T>
void store_rows(const Tensor& rows, const Tensor& places_in, const Tensor& memory) {
  const int64_t heads = rows.size(1), size = rows.size(2), count = memory.size(1);
  const int64_t* places = input<int64_t>(places_in);
  check_indices(kStoreRows.name, "places", places_in, count);
  for (int64_t r = 0; r < rows.size(0); ++r)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < size; ++i)
        output<T>(memory)[(h * count + places[r]) * size + i] =
            input<T>(rows)[(r * heads + h) * size + i];
}

// One row of one head.
template <class T>
void attend(const Tensor& query, const CachedAttentionInputs& in, const Tensor& out,
            const Tensor& lse, const CachedAttentionParams& params, const CachedRows::Row& row,
            int64_t r, int64_t h) {
  const int64_t heads = query.size(1), size = query.size(2);
  const int64_t key_heads = in.keys.size(0), count = in.keys.size(1);
  const int64_t value_size = in.values.size(2);
  const int64_t key_head = h / (heads / key_heads);
  const T* q = input<T>(query) + (r * heads + h) * size;
  const T cap = static_cast<T>(params.softcap);

  std::vector<T> scores(static_cast<size_t>(row.count), -std::numeric_limits<T>::infinity());
  T highest = -std::numeric_limits<T>::infinity();
  for (int64_t j = row.begin; j < row.count; ++j) {
    const T* k = input<T>(in.keys) + (key_head * count + row.places[j]) * size;
    T dot = 0;
    for (int64_t d = 0; d < size; ++d) dot += q[d] * k[d];
    T s = static_cast<T>(params.scale) * dot;
    if (cap > 0) s = cap * std::tanh(s / cap);
    const int64_t distance = row.count - 1 - j;
    if (in.slopes.defined()) s -= input<T>(in.slopes)[h] * static_cast<T>(distance);
    if (in.distance_bias.defined())
      s += input<T>(in.distance_bias)[h * in.distance_bias.size(1) + distance];
    scores[static_cast<size_t>(j)] = s;
    highest = std::max(highest, s);
  }
  T sum = 0;
  for (int64_t j = row.begin; j < row.count; ++j)
    sum += std::exp(scores[static_cast<size_t>(j)] - highest);
  const T log_sum = row.count == 0 ? highest : highest + std::log(sum);
  output<T>(lse)[h * query.size(0) + r] = log_sum;

  T* to = output<T>(out) + (r * heads + h) * value_size;
  std::fill(to, to + value_size, T(0));
  for (int64_t j = row.begin; j < row.count; ++j) {
    const T* v = input<T>(in.values) + (key_head * count + row.places[j]) * value_size;
    const T weight = std::exp(scores[static_cast<size_t>(j)] - log_sum);
    for (int64_t d = 0; d < value_size; ++d) to[d] += weight * v[d];
  }
}

template <class T>
void cached_attention(const Tensor& query, const CachedAttentionInputs& in, const Tensor& out,
                      const Tensor& lse, const CachedAttentionParams& params) {
  const CachedRows rows(query, in, params);
  for (int64_t r = 0; r < query.size(0); ++r)
    for (int64_t h = 0; h < query.size(1); ++h)
      attend<T>(query, in, out, lse, params, rows[r], r, h);
}

}  // namespace

void register_cached_attention(Device device) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    visit_dtype(dtype, [&]<class T>(T) { add_kernel(kStoreRows, device, dtype, store_rows<T>); });
  }
  add_both(kCachedAttention, device, cached_attention<float>, cached_attention<double>);
}

}  // namespace glassformer::ref
