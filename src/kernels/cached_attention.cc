#include "kernels/cached_attention.h"

#include "kernels/indices.h"

namespace glassformer {

CachedRows::CachedRows(const Tensor& query, const CachedAttentionInputs& in,
                       const CachedAttentionParams& params)
    : places_(input<int64_t>(in.places)),
      starts_(input<int64_t>(in.starts)),
      rows_(query.size(0)),
      window_left_(params.window_left) {
  bool ascending = starts_[0] == 0 && starts_[rows_] == in.places.count();
  int64_t longest = 0;
  for (int64_t r = 0; r < rows_; ++r) {
    ascending = ascending && starts_[r] <= starts_[r + 1];
    longest = std::max(longest, starts_[r + 1] - starts_[r]);
  }
  require<IndexError>(ascending, "cached_attention: expected starts to ascend from 0 to {}",
                      in.places.count());
  require<IndexError>(!in.distance_bias.defined() || in.distance_bias.size(1) >= longest,
                      "cached_attention: expected distance_bias for {} keys, found {}", longest,
                      in.distance_bias.defined() ? in.distance_bias.size(1) : 0);
  check_indices("cached_attention", "places", in.places, in.keys.size(1));
}

}  // namespace glassformer
