#pragma once

#include <optional>

#include "glassformer/ops/attention.h"

namespace glassformer {

// Keys and values that are kept lie in a memory of places, one token a place: [heads, places,
// size], for a head reads its own one after the other. A sequence is the list of its places, so
// that sequences may share their beginning.

// memory[h, places[i], :] = rows[i, h, :]. memory [heads, places, size], rows [rows, heads, size],
// places int64 [rows], all on one device. Off the tape. Throws ShapeError, DTypeError, DeviceError,
// or IndexError for a place that is not there.
void store_rows(const Tensor& memory, const Tensor& places, const Tensor& rows);

struct CachedAttentionOptions {
  std::optional<double> scale = {};  // 1 / sqrt(size) unless given
  double softcap = 0;                // as for attention()
  int64_t window_left = -1;          // only so many keys before the last; -1 is open
  Tensor alibi_slopes = {};   // float [heads]: adds -slope_h · d for the key d before the last
  Tensor distance_bias = {};  // float [heads, distances]: adds bias[h, d], likewise
};

// One query a row against the keys at places[starts[r]] ... places[starts[r + 1] - 1], the last of
// which stands where the query does:
//   softmax(scale · q Kᵀ + bias) V
//   query [rows, heads, size], keys [key heads, places, size], values [key heads, places, value
//   size], places int64 [n], starts int64 [rows + 1]
// The result is that of attention() on packed sequences of one query each: output [rows, heads,
// value size], log_sum_exp [1, heads, rows]. Its bits depend on the row alone. A row without keys
// gives zeros. Off the tape. Throws as attention() does.
AttentionResult cached_attention(const Tensor& query, const Tensor& keys, const Tensor& values,
                                 const Tensor& places, const Tensor& starts,
                                 const CachedAttentionOptions& options = {});

}  // namespace glassformer
