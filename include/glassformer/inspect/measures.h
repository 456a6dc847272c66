#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// What the rows of an attention's weights are like, one number a head: means over the queries.
// weights: [heads, queries, keys], on the cpu. Rows that may attend to nothing do not count; NaN
// where no row does.

// − Σ_j a_ij ln a_ij, in nats: 0 where a query looks at one key, ln(keys) where at all alike.
std::vector<double> attention_entropy(const Tensor& weights);

// Where queries and keys stand. Rows may be some of the queries: their places are then given.
struct Places {
  std::vector<int64_t> queries = {};  // of the rows; 0, 1, ... where it is empty
  // Of a picture: `prefix` tokens that stand nowhere, then rows of so many patches.
  int64_t columns = 0, prefix = 0;

  int64_t query(int64_t row) const {
    return queries.empty() ? row : queries[static_cast<size_t>(row)];
  }
};

// Σ_j a_ij |i − j|: how far a head looks, in tokens; in a picture the Euclidean distance in patches
// (Dosovitskiy et al. 2021).
std::vector<double> attention_distance(const Tensor& weights, const Places& places = {});

// The weight on the token before the query's own.
std::vector<double> previous_token_score(const Tensor& weights, const Places& places = {});

// The weight on the first token: [CLS], <s>, or where a decoder looks when it looks nowhere.
std::vector<double> first_token_score(const Tensor& weights);

// The weight on tokens that followed earlier occurrences of the query's token (Olsson et al. 2022):
// over queries whose token has such. NaN where no token comes twice. ids: [keys].
std::vector<double> induction_score(const Tensor& weights, std::span<const int64_t> ids,
                                    const Places& places = {});

// 1 − the Jensen–Shannon divergence of two heads' rows in bits, the mean over queries (Clark et al.
// 2019): 1 where they look alike, 0 where nowhere at the same keys. [heads, heads], float32.
Tensor head_similarity(const Tensor& weights);

}  // namespace glassformer
