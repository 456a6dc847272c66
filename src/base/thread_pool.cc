#include "base/thread_pool.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <thread>
#include <utility>

namespace glassformer {
namespace {

constexpr std::chrono::microseconds kSpin{100};

thread_local bool at_work = false;

// What fetch_while_waiting was told on this thread. Of what is fetched the place stays, not the
// memory.
struct Wanted {
  struct Piece {
    std::shared_ptr<const std::byte> memory;
    const std::byte* begin = nullptr;
    size_t at = 0, bytes = 0;
  };
  std::array<Piece, kMostPiecesAhead> pieces;
  size_t count = 0, next = 0;

  bool any() const { return next < count; }
  void clear() {
    if (count != 0) *this = {};
  }
  size_t fetched_of(const std::byte* begin) const {
    for (size_t i = 0; i < count; ++i)
      if (pieces[i].begin == begin) return pieces[i].at;
    return 0;
  }
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
  Wanted::Piece& piece = wanted.pieces[wanted.next];
  for (size_t i = 0; i < kLines && piece.at < piece.bytes; ++i, piece.at += kLine)
    static_cast<void>(*static_cast<const volatile std::byte*>(piece.begin + piece.at));
  if (piece.at < piece.bytes) return;
  piece.memory.reset();
  ++wanted.next;
}

// Whether `is_there` became true in the time that threads spin.
template <class F>
bool spin_for(F&& is_there) {
  constexpr int kLooksAtATime = 32;  // the clock takes as long as some of them
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kLooksAtATime; ++i) {
      if (is_there()) return true;
      if (wanted.any())
        fetch_some();
      else
        pause_briefly();
    }
  } while (std::chrono::steady_clock::now() - start < kSpin);
  return false;
}

// The core that this thread runs on; -1 where the system does not say.
int this_core() {
#ifdef __linux__
  return sched_getcpu();
#else
  return -1;
#endif
}

// Moves this thread to another of its cores, if it has one. It may come back.
void leave_core([[maybe_unused]] int core) {
#ifdef __linux__
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof(all), &all) != 0) return;
  cpu_set_t others = all;
  CPU_CLR(static_cast<size_t>(core), &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0) return;
  sched_setaffinity(0, sizeof(all), &all);
#endif
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

void fetch_while_waiting(std::span<const PieceAhead> pieces) {
  Wanted now;
  for (const PieceAhead& piece : pieces.first(std::min(pieces.size(), kMostPiecesAhead))) {
    const std::byte* begin = piece.memory.get();
    now.pieces[now.count++] = {piece.memory, begin, wanted.fetched_of(begin), piece.bytes};
  }
  wanted = std::move(now);
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
  if (workers == 1) {
    body(0, 1);
    return wanted.clear();
  }
  body_ = &body;
  working_.store(workers - 1, std::memory_order_relaxed);
  const Team last = team_.load(std::memory_order_relaxed) >> kSizeBits;
  team_.store((last + 1) << kSizeBits | static_cast<Team>(workers));
  if (sleepers_.load() > 0) {
    caller_core_.store(this_core(), std::memory_order_relaxed);
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
  const bool soon = spin_for(done);
  wanted.clear();  // the calling thread has work of its own after this
  if (soon) return;
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
    lock.unlock();
    const int core = this_core();
    if (core >= 0 && core == caller_core_.load(std::memory_order_relaxed)) leave_core(core);
  }
  return team;
}

}  // namespace glassformer
