#pragma once

#include <cstdint>
#include <memory>

#include "glassformer/training/batch_plan.h"

namespace glassformer {

// Where the data stands: the next batch of an epoch. Going past the last one starts the next epoch.
struct DataPosition {
  int64_t epoch = 0, batch = 0;
  bool operator==(const DataPosition&) const = default;
};

// Hands out the batches of epoch after epoch; a thread of its own makes them ahead of time.
class BatchLoader {
 public:
  // Throws ValueError for a data set without a batch. `data` must outlive the loader.
  BatchLoader(const Dataset& data, const BatchOptions& options, uint64_t seed,
              DataPosition start = {}, int rank = 0, int ranks = 1);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Throws whatever making the batch threw. Where a batch has fewer examples than there are
  // processes, a part may be empty: its tensors are not defined.
  Batch next();
  DataPosition position() const;     // of the batch that next() will give
  int64_t batches_in_epoch() const;  // of the position's

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace glassformer
