#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "glassformer/base/random.h"
#include "kernels/table.h"

namespace glassformer {

// What attention reads besides the queries. Undefined where absent. `Acc` is the type sums are kept
// in: float64 for float64, float32 for everything else.
struct AttentionInputs {
  Tensor key;            // [B, Hkv, Tk, D], last axis contiguous
  Tensor value;          // [B, Hkv, Tk, Dv], last axis contiguous
  Tensor bias;           // Acc, expanded to [B, H, Tq, Tk] (stride 0 where broadcast)
  Tensor mask;           // bool, expanded likewise; true means attend
  Tensor slopes;         // Acc [H], contiguous
  Tensor key_lengths;    // int64 [B]
  Tensor query_offsets;  // int64 [B]
  Tensor query_starts;   // int64 [S + 1]; with key_starts: B is 1 and holds S sequences end to end
  Tensor key_starts;     // int64 [S + 1]

  std::array<const Tensor*, 9> tensors() const {
    return {&key,         &value,         &bias,         &mask,      &slopes,
            &key_lengths, &query_offsets, &query_starts, &key_starts};
  }
};

struct AttentionParams {
  double scale = 1;
  double softcap = 0;  // none
  bool causal = false;
  int64_t window_left = -1;   // open
  int64_t window_right = -1;  // open
  double dropout = 0;
  RandomKey random;
};

// With p = i + diagonal the place of query i among the keys, H / Hkv query heads to a key head:
//   s_ij = softcap(scale q_i · k_j) + bias_ij + slope_h (j - p), where j may be attended to
//   lse_i = log sum_j exp s_ij,  w_ij = exp(s_ij - lse_i),  out_i = sum_j drop(w_ij) v_j
// A query that may attend to nothing has out_i = 0 and lse_i = -inf.
// query [B, H, Tq, D]; output [B, H, Tq, Dv], any strides but a contiguous last axis; lse
// [B, H, Tq], Acc, contiguous.
inline constexpr Kernel<void(const Tensor& query, const AttentionInputs& in, const Tensor& output,
                             const Tensor& lse, const AttentionParams& params)>
    kAttention{"attention"};

// What the backward reads and writes. The gradients are contiguous, but d_query, d_key and d_value
// may have any strides with a contiguous last axis.
struct AttentionGradients {
  Tensor output, lse;  // of the forward
  Tensor d_output;     // last axis contiguous
  Tensor d_lse;        // Acc, like lse; undefined where no gradient comes from it
  Tensor d_query, d_key, d_value;
  // Acc, rank 4, with size 1 where the bias was broadcast; undefined where it is not wanted.
  Tensor d_bias;
  std::array<const Tensor*, 8> tensors() const {
    return {&output, &lse, &d_output, &d_lse, &d_query, &d_key, &d_value, &d_bias};
  }
};

// With g_ij = drop(dout_i · v_j):  ds_ij = w_ij (g_ij - out_i · dout_i + dlse_i)
//   dbias = ds,  dq_i = scale sum_j ds'_ij k_j,  dk_j = scale sum_i ds'_ij q_i,
//   dv_j = sum_i drop(w_ij) dout_i,  where ds' = ds times the slope of the softcap.
inline constexpr Kernel<void(const Tensor& query, const AttentionInputs& in,
                             const AttentionGradients& gradients, const AttentionParams& params)>
    kAttentionBackward{"attention_backward"};

// weights[b, x, y, j] = w_ij of head heads[x] and query rows[y], from the saved lse; 0 where j may
// not be attended to. heads, rows: int64, in range. weights [B, heads, rows, Tk], Acc, contiguous.
inline constexpr Kernel<void(const Tensor& query, const AttentionInputs& in, const Tensor& lse,
                             const Tensor& heads, const Tensor& rows, const Tensor& weights,
                             const AttentionParams& params)>
    kAttentionWeights{"attention_weights"};

// One sequence of a call: rows [q_begin, q_begin + q_count) of query and the same of key, in batch
// entry `batch`.
struct AttentionSpan {
  int64_t batch = 0;
  int64_t q_begin = 0, q_count = 0;
  int64_t k_begin = 0, k_count = 0;
  int64_t diagonal = 0;  // query i stands at key i + diagonal
};

// The sequences of a call, for kernels in host memory. Throws IndexError for lengths or starts out
// of range.
std::vector<AttentionSpan> attention_spans(const Tensor& query, const AttentionInputs& in);

// The one of them that holds query row `row` of batch entry `batch`.
const AttentionSpan& span_of(const std::vector<AttentionSpan>& spans, int64_t batch, int64_t row);

// The keys that causality and windows leave to query i: [begin, end), relative to the span.
struct KeyRange {
  int64_t begin, end;
};
inline KeyRange key_range(const AttentionSpan& span, const AttentionParams& params, int64_t i) {
  const int64_t place = i + span.diagonal;
  KeyRange range{0, span.k_count};
  if (params.window_left >= 0 && place - params.window_left > 0)
    range.begin = place - params.window_left;
  if (params.causal && place + 1 < range.end) range.end = place + 1;
  if (params.window_right >= 0 && place + params.window_right + 1 < range.end)
    range.end = place + params.window_right + 1;
  if (range.end < range.begin) range.end = range.begin = 0;
  return range;
}

// The number of the dropout element of query row i (of the whole tensor) and key j.
inline uint64_t dropout_element(const Tensor& query, const Tensor& key, int64_t batch, int64_t head,
                                int64_t row, int64_t column) {
  const int64_t line = (batch * query.size(1) + head) * query.size(2) + row;
  return static_cast<uint64_t>(line * key.size(2) + column);
}

}  // namespace glassformer
