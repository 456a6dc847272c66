#include "glassformer/training/batch_loader.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "training/data/draws.h"

namespace glassformer {

struct BatchLoader::State {
  static constexpr size_t kAhead = 4;

  struct Made {
    Batch batch;
    std::exception_ptr error;
  };

  State(const Dataset& data, const BatchOptions& options, uint64_t seed, DataPosition start,
        int rank, int ranks)
      : data(data),
        options(options),
        seed(seed),
        rank(rank),
        ranks(ranks),
        plan(data, options, seed, start.epoch),
        // Batches are cut by the lengths alone, which no epoch changes.
        batches(plan.size()),
        position(start) {
    require<ValueError>(batches > 0, "BatchLoader: expected at least one batch, found {} examples",
                        data.size());
    require<ValueError>(start.epoch >= 0 && start.batch >= 0 && start.batch <= batches,
                        "BatchLoader: expected a position within an epoch of {} batches, found "
                        "batch {} of epoch {}",
                        batches, start.batch, start.epoch);
    require<ValueError>(rank >= 0 && rank < ranks,
                        "BatchLoader: expected a rank below the number of them, found {} of {}",
                        rank, ranks);
    if (position.batch == batches) position = {position.epoch + 1, 0};
    thread = std::thread([this, at = position, planned = start.epoch] { run(at, planned); });
  }

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    changed.notify_all();
    thread.join();
  }

  DataPosition after(DataPosition at) const {
    return at.batch + 1 < batches ? DataPosition{at.epoch, at.batch + 1}
                                  : DataPosition{at.epoch + 1, 0};
  }

  // The thread: until it is told to stop, or a batch could not be made.
  void run(DataPosition at, int64_t planned) {
    for (;; at = after(at)) {
      Made made;
      try {
        if (at.epoch != planned) plan = BatchPlan(data, options, seed, at.epoch);
        planned = at.epoch;
        const auto examples = plan.part(at.batch, rank, ranks);
        const RandomKey key{seed, kExampleStreams + static_cast<uint64_t>(at.epoch)};
        if (!examples.empty()) made.batch = data.collate(examples, key);
      } catch (...) {
        made.error = std::current_exception();
      }
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return stop || queue.size() < kAhead; });
      if (stop) return;
      const bool failed = made.error != nullptr;
      queue.push_back(std::move(made));
      changed.notify_all();
      if (failed) return;
    }
  }

  const Dataset& data;
  const BatchOptions options;
  const uint64_t seed;
  const int rank, ranks;
  BatchPlan plan;  // the thread's, once it runs
  const int64_t batches;
  DataPosition position;  // the caller's

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Made> queue;
  bool stop = false;
  std::thread thread;
};

BatchLoader::BatchLoader(const Dataset& data, const BatchOptions& options, uint64_t seed,
                         DataPosition start, int rank, int ranks)
    : state_(std::make_unique<State>(data, options, seed, start, rank, ranks)) {}

BatchLoader::~BatchLoader() = default;

Batch BatchLoader::next() {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return !state.queue.empty(); });
  // An error stays where it is: whoever asks again is told again.
  if (state.queue.front().error) std::rethrow_exception(state.queue.front().error);
  Batch batch = std::move(state.queue.front().batch);
  state.queue.pop_front();
  state.position = state.after(state.position);
  state.changed.notify_all();
  return batch;
}

DataPosition BatchLoader::position() const { return state_->position; }

int64_t BatchLoader::batches_in_epoch() const { return state_->batches; }

}  // namespace glassformer
