#pragma once

#include <array>

#include "kernels/table.h"

namespace glassformer {

// memory[h, places[i], :] = rows[i, h, :]. memory [H, P, D], places int64 [R], rows [R, H, D], all
// contiguous.
// Checks every place and throws IndexError.
inline constexpr Kernel<void(const Tensor& rows, const Tensor& places, const Tensor& memory)>
    kStoreRows{"store_rows"};

// All contiguous. `Acc` is float64 for float64, float32 for everything else.
struct CachedAttentionInputs {
  Tensor keys;           // [Hkv, P, D]
  Tensor values;         // [Hkv, P, Dv]
  Tensor places;         // int64 [n], each in [0, P)
  Tensor starts;         // int64 [R + 1], ascending from 0 to n
  Tensor slopes;         // Acc [H], or undefined
  Tensor distance_bias;  // Acc [H, distances], one for every key at least; or undefined

  std::array<const Tensor*, 6> tensors() const {
    return {&keys, &values, &places, &starts, &slopes, &distance_bias};
  }
};

struct CachedAttentionParams {
  double scale = 1;
  double softcap = 0;        // none
  int64_t window_left = -1;  // open
};

// With n keys for row r, key j at k_j = keys[:, places[starts[r] + j]], d = n - 1 - j:
//   s_j = softcap(scale q · k_j) - slope_h d + distance_bias[h, d], where d <= window_left
//   lse = log sum_j exp s_j,  out = sum_j exp(s_j - lse) v_j
// Checks places and starts and throws IndexError. query [R, H, D], output [R, H, Dv], lse [H, R].
inline constexpr Kernel<void(const Tensor& query, const CachedAttentionInputs& in,
                             const Tensor& output, const Tensor& lse,
                             const CachedAttentionParams& params)>
    kCachedAttention{"cached_attention"};

// The rows' key lists, for kernels in host memory. Throws IndexError for places and starts that
// are out of range.
class CachedRows {
 public:
  CachedRows(const Tensor& query, const CachedAttentionInputs& in,
             const CachedAttentionParams& params);
  struct Row {
    const int64_t* places;
    int64_t count;  // of keys
    int64_t begin;  // the first that the window leaves
  };
  Row operator[](int64_t row) const {
    const int64_t count = starts_[row + 1] - starts_[row];
    const int64_t begin =
        window_left_ < 0 || count - 1 <= window_left_ ? 0 : count - 1 - window_left_;
    return {places_ + starts_[row], count, begin};
  }
  int64_t total() const { return starts_[rows_]; }

 private:
  const int64_t *places_, *starts_;
  int64_t rows_, window_left_;
};

}  // namespace glassformer
