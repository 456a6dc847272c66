#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/parallel.h"

namespace glassformer {

// The threads of the process that kernels run on, beside the one that calls. Its own rather than
// OpenMP's: a step of a decoder is some sixty teams of a few microseconds each, GCC's runtime takes
// a microsecond to start and end one, nothing can be done in it while a thread waits, and the
// thread sanitizer cannot see into it.
//
// A thread that waits spins for 0.1 ms, which bridges what lies between two kernels, and then
// sleeps: where other programs take the cores, spinning keeps from them what they could use. One
// that is woken on the core of the caller moves to another: the system may leave the two together
// for milliseconds, for they take turns at sleeping, so that neither looks as if it had to wait.
class ThreadPool {
 public:
  using Body = FunctionRef<void(int, int)>;

  // That of this process: a child after fork() has one of its own, without threads yet.
  static ThreadPool& instance();

  // body(worker, workers) on up to `size` threads, the calling one among them; `workers` of them
  // are there. It runs on the calling thread alone where another one's team is running, or where
  // the system gives no more threads. The body must not throw.
  void run(int size, Body body);

  // Whether the calling thread is at work for a team.
  static bool in_team();

 private:
  // The number of a team and its size, in one word: a thread that is not in a team looks no
  // further, and one that is keeps the caller from starting the next.
  using Team = uint64_t;
  static constexpr int kSizeBits = 16;
  static int size_of(Team team) { return static_cast<int>(team & ((1U << kSizeBits) - 1)); }

  int start_threads(int count);
  void work(int worker);
  Team next_team(int worker, Team last);
  void await_workers();

  std::mutex calling_;          // held while a team runs
  int threads_ = 0;             // started so far
  const Body* body_ = nullptr;  // of the team
  alignas(64) std::atomic<Team> team_{0};
  alignas(64) std::atomic<int> working_{0};  // threads of the team that are not done
  // Whoever sleeps says so before a last look at what it waits for, and whoever changes that looks
  // for sleepers afterwards, both in one order for all: one of them sees the other.
  alignas(64) std::atomic<int> sleepers_{0};
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<int> caller_core_{-1};  // when it woke the others
  std::mutex sleeping_;
  std::condition_variable wake_, done_;
};

}  // namespace glassformer
