#include "glassformer/base/threads.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <sched.h>

#include "base/check.h"
#include "base/parallel.h"
#include "base/thread_pool.h"
#include "base/work_shares.h"

namespace glassformer {
namespace {

constexpr int kMaxThreads = WorkShares::kMost;

// Keeps the first exception of a team; an exception must not leave a parallel region.
class FirstError {
 public:
  template <class F>
  void guard(F&& body) noexcept {
    try {
      body();
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

// Cores that this process may run on.
int cores() {
  constexpr size_t kMostCores = 16384;
  cpu_set_t* set = CPU_ALLOC(kMostCores);
  if (set == nullptr) return 1;
  const size_t bytes = CPU_ALLOC_SIZE(kMostCores);
  const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 1;
  CPU_FREE(set);
  return count;
}

// What OMP_NUM_THREADS says, the variable that people set for programs like this, or else all
// cores.
int first_count() {
  int count = 0;
  if (const char* told = std::getenv("OMP_NUM_THREADS"); told != nullptr)
    std::from_chars(told, told + std::strlen(told), count);
  return std::clamp(count > 0 ? count : cores(), 1, kMaxThreads);
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count{first_count()};
  return count;
}

}  // namespace

int num_threads() { return thread_count().load(std::memory_order_relaxed); }

void set_num_threads(int count) {
  require<ValueError>(count >= 1 && count <= kMaxThreads,
                      "set_num_threads: expected a count from 1 to {}, found {}", kMaxThreads,
                      count);
  thread_count() = count;
}

int team_size(int wanted) { return ThreadPool::in_team() ? 1 : std::min(wanted, num_threads()); }

void parallel_workers(int wanted, FunctionRef<void(int, int)> body) {
  const int size = team_size(wanted);
  if (size <= 1) {
    body(0, 1);
    return;
  }
  FirstError error;
  ThreadPool::instance().run(
      size, [&](int worker, int workers) { error.guard([&] { body(worker, workers); }); });
  error.rethrow();
}

void parallel_tasks(int64_t count, FunctionRef<void(int64_t)> body) {
  std::atomic<int64_t> next{0};
  const int wanted = static_cast<int>(std::min<int64_t>(count, kMaxThreads));
  parallel_workers(wanted, [&](int, int) {
    for (int64_t i = next++; i < count; i = next++) body(i);
  });
}

void parallel_ranges(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int size = team_size(static_cast<int>(std::clamp<int64_t>(count / grain, 1, kMaxThreads)));
  if (size <= 1) return body(0, count);
  WorkShares shares;
  const int64_t step = (count + size - 1) / size;
  for (int share = 0; share < size; ++share)
    shares.set(share, std::min(count, share * step), std::min(count, (share + 1) * step));
  parallel_workers(size, [&](int worker, int) {
    for (int turn = 0; turn < size; ++turn) {
      const int share = (worker + turn) % size;
      for (auto piece = shares.take(share, grain); !piece.empty();
           piece = shares.take(share, grain))
        body(piece.begin, piece.end);
    }
  });
}

}  // namespace glassformer
