#include "glassformer/ops/cached_attention.h"

#include <cmath>

#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/view.h"
#include "kernels/cached_attention.h"
#include "ops/common.h"

namespace glassformer {
namespace {

constexpr const char* kOp = "cached_attention";

Tensor index_argument(const char* op, const char* name, const Tensor& x, const Tensor& like) {
  check_index_type(op, name, x);
  check_rank(op, name, x, 1);
  check_same_device(op, {{"memory", like}, {name, x}});
  return contiguous(cast(x, DType::kInt64));
}

void check_memory(const Tensor& query, const Tensor& keys, const Tensor& values) {
  check_same_device(kOp, {{"query", query}, {"keys", keys}, {"values", values}});
  check_same_dtype(kOp, {{"query", query}, {"keys", keys}, {"values", values}});
  check_floating(kOp, "query", query);
  check_rank(kOp, "query", query, 3);
  check_rank(kOp, "keys", keys, 3);
  check_rank(kOp, "values", values, 3);
  check_shape(kOp, "keys", keys, {keys.size(0), keys.size(1), query.size(2)});
  check_shape(kOp, "values", values, {keys.size(0), keys.size(1), values.size(2)});
  require<ShapeError>(
      keys.size(0) > 0 && query.size(1) % keys.size(0) == 0,
      "{}: expected heads of query ({}) to be a multiple of heads of keys, found {}", kOp,
      query.size(1), keys.size(0));
}

}  // namespace

void store_rows(const Tensor& memory, const Tensor& places, const Tensor& rows) {
  const NoGrad no_grad;
  check_rank("store_rows", "memory", memory, 3);
  check_rank("store_rows", "rows", rows, 3);
  check_same_device("store_rows", {{"memory", memory}, {"rows", rows}});
  check_same_dtype("store_rows", {{"memory", memory}, {"rows", rows}});
  require<ShapeError>(memory.is_contiguous(), "store_rows: expected contiguous memory");
  check_shape("store_rows", "rows", rows, {rows.size(0), memory.size(0), memory.size(2)});
  const Tensor at = index_argument("store_rows", "places", places, memory);
  check_shape("store_rows", "places", at, {rows.size(0)});
  if (rows.count() == 0) return;
  call(kStoreRows, contiguous(off_tape(rows)), at, memory);
}

AttentionResult cached_attention(const Tensor& query_in, const Tensor& keys, const Tensor& values,
                                 const Tensor& places, const Tensor& starts,
                                 const CachedAttentionOptions& options) {
  const NoGrad no_grad;
  check_memory(query_in, keys, values);
  const Tensor query = contiguous(off_tape(query_in));
  const int64_t rows = query.size(0), heads = query.size(1);
  const DType acc = query.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  CachedAttentionInputs in;
  in.keys = contiguous(keys), in.values = contiguous(values);
  in.places = index_argument(kOp, "places", places, keys);
  in.starts = index_argument(kOp, "starts", starts, keys);
  check_shape(kOp, "starts", in.starts, {rows + 1});
  if (options.alibi_slopes.defined()) {
    check_shape(kOp, "alibi_slopes", options.alibi_slopes, {heads});
    in.slopes = contiguous(cast(options.alibi_slopes, acc));
  }
  if (options.distance_bias.defined()) {
    check_rank(kOp, "distance_bias", options.distance_bias, 2);
    check_shape(kOp, "distance_bias", options.distance_bias,
                {heads, options.distance_bias.size(1)});
    in.distance_bias = contiguous(cast(options.distance_bias, acc));
  }
  const double size = static_cast<double>(query.size(2));
  const CachedAttentionParams params{options.scale.value_or(1 / std::sqrt(size)), options.softcap,
                                     options.window_left};
  AttentionResult result;
  result.output = empty({rows, heads, values.size(2)}, query.options());
  const Tensor lse = empty({heads, rows}, {acc, query.device()});
  call(kCachedAttention, query, in, result.output, lse, params);
  result.log_sum_exp = unsqueeze(lse, 0);
  return result;
}

}  // namespace glassformer
