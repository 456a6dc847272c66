#include "glassformer/base/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "base/check.h"
#include "base/parallel.h"
#include "base/work_shares.h"

#ifdef GLASSFORMER_STD_THREADS
#include <thread>
#include <vector>
#else
#include <cstdlib>
#include <omp.h>
#endif

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

#ifdef GLASSFORMER_STD_THREADS
// The thread sanitizer cannot see the barriers inside libgomp, so its build starts plain threads.
std::atomic<int> thread_count{static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))};
thread_local bool in_team = false;

void run_team(int size, FunctionRef<void(int, int)> body) {
  std::vector<std::thread> team;
  for (int i = 1; i < size; ++i)
    team.emplace_back([&, i] {
      in_team = true;
      body(i, size);
    });
  in_team = true;
  body(0, size);
  in_team = false;
  for (auto& thread : team) thread.join();
}
bool nested() { return in_team; }
int get_count() { return thread_count; }
void set_count(int count) { thread_count = count; }
#else
// Threads wait for each other by spinning: GCC's runtime for 5 to 15 ms, then they sleep. Where
// other programs take a core, that is how long one thread keeps another of its team from running,
// kernel after kernel: two threads then trained at a fiftieth of their speed, and at a third with
// the 50 to 150 µs below, which bridge what lies between two kernels. The runtime reads this in a
// constructor of its own, which comes later.
[[gnu::constructor(101)]] void wait_briefly() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "4000", /*overwrite=*/0);
}

void run_team(int size, FunctionRef<void(int, int)> body) {
#pragma omp parallel num_threads(size)
  body(omp_get_thread_num(), omp_get_num_threads());
}
bool nested() { return omp_in_parallel() != 0; }
int get_count() { return omp_get_max_threads(); }
void set_count(int count) { omp_set_num_threads(count); }
#endif

}  // namespace

int num_threads() { return get_count(); }

void set_num_threads(int count) {
  require<ValueError>(count >= 1 && count <= kMaxThreads,
                      "set_num_threads: expected a count from 1 to {}, found {}", kMaxThreads,
                      count);
  set_count(count);
}

int team_size(int wanted) { return nested() ? 1 : std::min(wanted, num_threads()); }

void parallel_workers(int wanted, FunctionRef<void(int, int)> body) {
  const int size = team_size(wanted);
  if (size <= 1) {
    body(0, 1);
    return;
  }
  FirstError error;
  run_team(size, [&](int worker, int workers) { error.guard([&] { body(worker, workers); }); });
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
