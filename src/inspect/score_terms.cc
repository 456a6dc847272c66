#include "glassformer/inspect/score_terms.h"

#include "base/check.h"
#include "glassformer/ops/view.h"
#include "tensor/shape_format.h"

namespace glassformer {

std::vector<double> score_terms(const Tensor& query, const Tensor& key, ScorePlace place,
                                double scale) {
  require<ShapeError>(query.rank() == 3 && key.rank() == 3 && query.size(2) == key.size(2) &&
                          key.size(0) > 0 && query.size(0) % key.size(0) == 0,
                      "score_terms: expected query [heads, queries, size] and key [key heads, "
                      "keys, size], found {} and {}",
                      query.shape(), key.shape());
  const int64_t group = query.size(0) / key.size(0);
  const std::vector<double> q =
      select(select(query, 0, place.head), 0, place.query).to_vector<double>();
  const std::vector<double> k =
      select(select(key, 0, place.head / group), 0, place.key).to_vector<double>();
  std::vector<double> terms;
  for (size_t d = 0; d < q.size(); ++d) terms.push_back(scale * q[d] * k[d]);
  return terms;
}

}  // namespace glassformer
