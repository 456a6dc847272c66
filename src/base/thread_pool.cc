#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

namespace glassformer {
namespace {

constexpr std::chrono::microseconds kSpin{100};

thread_local bool at_work = false;

// What fetch_while_waiting was told on this thread and is still to be fetched.
struct Wanted {
  std::shared_ptr<const std::byte> memory;
  size_t at = 0, bytes = 0;

  void clear() { *this = {}; }
};
thread_local Wanted wanted;

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A few lines: one that is waited for shall not wait long for what is on its way. They are read:
// processors drop prefetches that come faster than memory does, half of them or more.
void fetch_some() {
  constexpr size_t kLine = 64, kLines = 8;
  for (size_t i = 0; i < kLines && wanted.at < wanted.bytes; ++i, wanted.at += kLine)
    static_cast<void>(*static_cast<const volatile std::byte*>(wanted.memory.get() + wanted.at));
  if (wanted.at >= wanted.bytes) wanted.clear();
}

// Whether `is_there` became true in the time that threads spin.
template <class F>
bool spin_for(F&& is_there) {
  constexpr int kLooksAtATime = 32;  // the clock takes as long as some of them
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kLooksAtATime; ++i) {
      if (is_there()) return true;
      if (wanted.memory != nullptr)
        fetch_some();
      else
        pause_briefly();
    }
  } while (std::chrono::steady_clock::now() - start < kSpin);
  return false;
}

// Never destroyed: threads may still look at it while the process ends.
std::atomic<ThreadPool*> current{nullptr};

void forget_pool() { current = new ThreadPool; }

}  // namespace

ThreadPool& ThreadPool::instance() {
  static const bool made = [] {
    current = new ThreadPool;
    pthread_atfork(nullptr, nullptr, forget_pool);
    return true;
  }();
  static_cast<void>(made);
  return *current.load(std::memory_order_acquire);
}

bool ThreadPool::in_team() { return at_work; }

void fetch_while_waiting(std::shared_ptr<const std::byte> memory, size_t bytes) {
  wanted = {std::move(memory), 0, bytes};
}

// Threads beside the caller, as many as were asked for or as there are.
int ThreadPool::start_threads(int count) {
  while (threads_ < count) {
    try {
      std::thread([this, worker = threads_ + 1] { work(worker); }).detach();
    } catch (const std::system_error&) {
      break;
    }
    ++threads_;
  }
  return std::min(threads_, count);
}

void ThreadPool::run(int size, Body body) {
  const std::unique_lock calling(calling_, std::try_to_lock);
  const int workers = calling.owns_lock() ? start_threads(size - 1) + 1 : 1;
  if (workers == 1) return body(0, 1);
  body_ = &body;
  working_.store(workers - 1, std::memory_order_relaxed);
  const Team last = team_.load(std::memory_order_relaxed) >> kSizeBits;
  team_.store((last + 1) << kSizeBits | static_cast<Team>(workers));
  if (sleepers_.load() > 0) {
    const std::lock_guard lock(sleeping_);
    wake_.notify_all();
  }
  at_work = true;
  body(0, workers);
  at_work = false;
  await_workers();
}

void ThreadPool::await_workers() {
  const auto done = [&] { return working_.load() == 0; };
  wanted.clear();  // the calling thread has work of its own after this
  if (spin_for(done)) return;
  std::unique_lock lock(sleeping_);
  caller_sleeps_ = true;
  done_.wait(lock, done);
  caller_sleeps_ = false;
}

void ThreadPool::work(int worker) {
  at_work = true;
  for (Team team = 0;;) {
    team = next_team(worker, team);
    (*body_)(worker, size_of(team));
    if (working_.fetch_sub(1) == 1 && caller_sleeps_.load()) {
      const std::lock_guard lock(sleeping_);
      done_.notify_one();
    }
  }
}

ThreadPool::Team ThreadPool::next_team(int worker, Team last) {
  Team team = last;
  const auto is_there = [&] {
    team = team_.load();
    return team != last && worker < size_of(team);
  };
  if (!spin_for(is_there)) {
    wanted.clear();
    std::unique_lock lock(sleeping_);
    ++sleepers_;
    wake_.wait(lock, is_there);
    --sleepers_;
  }
  return team;
}

}  // namespace glassformer
