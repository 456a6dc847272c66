#include "glassformer/ops/relative_positions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "kernels/relative_positions.h"
#include "ops/common.h"

namespace glassformer {
namespace {

void check_lengths(const char* op, int64_t queries, int64_t keys, int64_t offset) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 4;  // so that no sum overflows
  require<ValueError>(queries >= 0 && keys >= 0 && queries <= kMost && keys <= kMost,
                      "{}: expected numbers of queries and keys of at least 0, found {} and {}", op,
                      queries, keys);
  require<ValueError>(offset >= -kMost && offset <= kMost,
                      "{}: expected an offset within ±{}, found {}", op, kMost, offset);
}

// How T5 divides the buckets: `exact` single distances, then logarithmic up to `per_side`.
struct BucketPlan {
  int64_t per_side, exact;
};

BucketPlan plan(const RelativeBucketOptions& options) {
  const int64_t per_side = options.bidirectional ? options.num_buckets / 2 : options.num_buckets;
  require<ValueError>(per_side >= 2,
                      "relative_position_buckets: expected num_buckets of at least {}, found {}",
                      options.bidirectional ? 4 : 2, options.num_buckets);
  require<ValueError>(options.max_distance > per_side / 2,
                      "relative_position_buckets: expected max_distance over {}, found {}",
                      per_side / 2, options.max_distance);
  return {per_side, per_side / 2};
}

// In float32 step by step, as Hugging Face does: bucket borders lie on round numbers.
int64_t bucket_of(int64_t distance, const RelativeBucketOptions& options, BucketPlan plan) {
  int64_t first = 0;
  if (options.bidirectional) {
    if (distance > 0) first = plan.per_side;
    distance = std::abs(distance);
  } else {
    distance = -std::min<int64_t>(distance, 0);
  }
  if (distance < plan.exact) return first + distance;
  const auto exact = static_cast<double>(plan.exact);
  const float growth = std::log(static_cast<float>(distance) / static_cast<float>(exact));
  const auto span = static_cast<float>(std::log(static_cast<double>(options.max_distance) / exact));
  const float steps = growth / span * static_cast<float>(plan.per_side - plan.exact);
  const auto last = static_cast<float>(plan.per_side - 1 - plan.exact);
  return first + plan.exact + static_cast<int64_t>(std::min(steps, last));
}

}  // namespace

Tensor alibi_slopes(int64_t heads, TensorOptions options) {
  require<ValueError>(heads >= 1 && heads <= (int64_t{1} << 20),
                      "alibi_slopes: expected from 1 to 2^20 heads, found {}", heads);
  const auto below = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<double> slopes;
  for (int64_t i = 1; i <= below; ++i)
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(i) / static_cast<double>(below)));
  for (int64_t i = 1; i <= heads - below; ++i)
    slopes.push_back(std::exp2(-4.0 * static_cast<double>(2 * i - 1) / static_cast<double>(below)));
  return to(cast(from_vector(slopes, {heads}), options.dtype), options.device);
}

Tensor alibi_bias(const Tensor& slopes, int64_t queries, int64_t keys, int64_t offset) {
  check_floating("alibi_bias", "slopes", slopes);
  check_rank("alibi_bias", "slopes", slopes, 1);
  check_lengths("alibi_bias", queries, keys, offset);
  Tensor y = empty({slopes.size(0), queries, keys}, slopes.options());
  call(kAlibiBias, contiguous(slopes.detach()), y, offset);
  return y;
}

int64_t relative_position_bucket(int64_t distance, const RelativeBucketOptions& options) {
  constexpr int64_t kFarthest = std::numeric_limits<int64_t>::max();  // whose negative exists
  return bucket_of(std::max(distance, -kFarthest), options, plan(options));
}

Tensor relative_position_buckets(int64_t queries, int64_t keys,
                                 const RelativeBucketOptions& options, Device device) {
  constexpr const char* kOp = "relative_position_buckets";
  check_lengths(kOp, queries, keys, options.query_offset);
  const BucketPlan buckets = plan(options);
  Tensor y = empty({queries, keys}, {DType::kInt64, device});
  if (y.count() == 0) return y;
  // One bucket for each distance; a row of the result is a stretch of them.
  std::vector<int64_t> by_distance;
  for (int64_t distance = 1 - queries; distance < keys; ++distance)
    by_distance.push_back(bucket_of(distance - options.query_offset, options, buckets));
  call(kToeplitz, from_vector(by_distance, {queries + keys - 1}, device), y);
  return y;
}

Tensor relative_bias(const Tensor& table_in, const Tensor& buckets_in) {
  constexpr const char* kOp = "relative_bias";
  check_floating(kOp, "table", table_in);
  check_rank(kOp, "table", table_in, 2);
  check_index_type(kOp, "buckets", buckets_in);
  check_rank(kOp, "buckets", buckets_in, 2);
  check_same_device(kOp, {{"table", table_in}, {"buckets", buckets_in}});
  const Tensor table = contiguous(table_in);
  const Tensor buckets = contiguous(cast(buckets_in, DType::kInt64));
  Tensor y = empty({table.size(1), buckets.size(0), buckets.size(1)}, table.options());
  call(kRelativeBias, table, buckets, y);
  if (needs_grad(table))
    record(
        kOp, {table}, {y},
        [keep = SavedTensor(kOp, buckets), shape = table.shape()](const std::vector<Tensor>& dy) {
          Tensor dtable = empty(shape, dy[0].options());
          call(kRelativeBiasBackward, contiguous(dy[0]), keep.get(), dtable);
          return std::vector{dtable};
        });
  return y;
}

}  // namespace glassformer
