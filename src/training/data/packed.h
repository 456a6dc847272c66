#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glassformer/training/dataset.h"

namespace glassformer {

// Sequences being put end to end.
class Packed {
 public:
  void add(std::span<const int32_t> ids) {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    starts_.push_back(static_cast<int64_t>(ids_.size()));
  }
  // The last one, which may still be changed.
  std::span<int64_t> last() {
    return std::span(ids_).subspan(static_cast<size_t>(starts_[starts_.size() - 2]));
  }
  // Ids, starts and the number of tokens.
  void put_into(Batch& batch) const {
    batch.tokens = static_cast<int64_t>(ids_.size());
    batch.input.input_ids = from_vector(ids_, {batch.tokens});
    batch.input.starts = from_vector(starts_, {static_cast<int64_t>(starts_.size())});
  }

 private:
  std::vector<int64_t> ids_, starts_{0};
};

// Targets with a class for each token, and how many of them count.
void put_targets(Batch& batch, const std::vector<int64_t>& targets, const Shape& shape);

// Throws IndexError for an example that is not there.
void check_examples(std::span<const int64_t> examples, int64_t size);

// Targets that are classes, int64 [examples]; or numbers, float32 [examples, 1].
Tensor label_targets(const std::vector<double>& labels, std::span<const int64_t> examples,
                     bool numbers);

}  // namespace glassformer
