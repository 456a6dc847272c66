#pragma once

#include <cstdint>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// ALiBi's slope for each head: 2^(-8 i / heads), i = 1 ... heads, for a power of two; otherwise
// those of the power of two below, and then every other one of the power above.
// A new tensor [heads]. Throws ValueError unless heads >= 1.
Tensor alibi_slopes(int64_t heads, TensorOptions options = {});

// bias[h, i, j] = slope_h · (j - p_i), where query i stands at key position p_i = i + offset: zero
// at the query itself, falling to the left. Pass keys - queries for queries that end with the keys.
// slopes: [H], floating; a constant, without gradient. A new tensor [H, queries, keys] of its
// dtype.
Tensor alibi_bias(const Tensor& slopes, int64_t queries, int64_t keys, int64_t offset);

struct RelativeBucketOptions {
  bool bidirectional = true;  // encoders; decoders see no keys to the right, and give them bucket 0
  int64_t num_buckets = 32;
  int64_t max_distance = 128;  // from here on all distances share a bucket
  int64_t query_offset = 0;    // key position of query 0
};

// T5's bucket for the distance key - query: half of the buckets hold one distance each, the others
// grow logarithmically up to max_distance. Throws ValueError for options that leave no such halves.
int64_t relative_position_bucket(int64_t distance, const RelativeBucketOptions& options = {});

// The bucket of every query and key: int64 [queries, keys].
Tensor relative_position_buckets(int64_t queries, int64_t keys,
                                 const RelativeBucketOptions& options = {},
                                 Device device = Device::kCpu);

// bias[h, i, j] = table[buckets[i, j], h].
// table: [num_buckets, H], floating, with gradient; buckets: [Tq, Tk], int64 or int32.
// A new tensor [H, Tq, Tk]. Throws IndexError for a bucket outside the table.
Tensor relative_bias(const Tensor& table, const Tensor& buckets);

}  // namespace glassformer
