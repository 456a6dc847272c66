#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glassformer/training/dataset.h"

namespace glassformer {

struct BatchOptions {
  int64_t size = 0;    // examples of a batch, or
  int64_t tokens = 0;  // their number times the longest of them, at most (one example is allowed)
  bool shuffle = true;
  bool drop_last = false;  // with size: a last batch that is not full
};

// The batches of one epoch. Depends on the data set, the options, the seed and the epoch alone.
// With `tokens`, examples of like length stand together, and the batches are shuffled as a whole.
class BatchPlan {
 public:
  // Throws ValueError unless exactly one of size and tokens is positive.
  BatchPlan(const Dataset& data, const BatchOptions& options, uint64_t seed, int64_t epoch);

  int64_t size() const { return static_cast<int64_t>(starts_.size()) - 1; }
  std::span<const int64_t> operator[](int64_t batch) const;  // the numbers of its examples
  // The part of it that process `rank` of `ranks` takes; parts are as equal as can be.
  std::span<const int64_t> part(int64_t batch, int rank, int ranks) const;

 private:
  std::vector<int64_t> order_, starts_;
};

}  // namespace glassformer
