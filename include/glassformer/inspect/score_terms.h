#pragma once

#include <cstdint>
#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// One attention score taken apart: scale · q_d · k_d for every dimension d of the head. The terms
// add up to the scaled score. query: [heads, queries, size], key: [key heads, keys, size], as the
// steps of these names are (after norm and rotation). Throws ShapeError or IndexError.
struct ScorePlace {
  int64_t head = 0, query = 0, key = 0;
};
std::vector<double> score_terms(const Tensor& query, const Tensor& key, ScorePlace place,
                                double scale);

}  // namespace glassformer
