#include "glassformer/base/threads.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "glassformer/base/error.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

class Threads : public ::testing::Test {
 protected:
  void TearDown() override { set_num_threads(before_); }
  int before_ = num_threads();
};

TEST_F(Threads, CountIsChecked) {
  for (const int bad : {0, -1, 1025, 1 << 30})
    expect_throws<ValueError>([bad] { set_num_threads(bad); }, {"set_num_threads", "1024"});
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3);
}

TEST_F(Threads, EveryPieceOnce) {
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    for (const int64_t count : {0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> tasks(static_cast<size_t>(count)), ranges(tasks.size());
      parallel_tasks(count, [&](int64_t i) { ++tasks[static_cast<size_t>(i)]; });
      std::atomic<int> short_pieces{0};
      parallel_ranges(count, 10, [&](int64_t begin, int64_t end) {
        EXPECT_LT(begin, end);
        short_pieces += end - begin < 10;
        for (int64_t i = begin; i < end; ++i) ++ranges[static_cast<size_t>(i)];
      });
      EXPECT_LE(short_pieces, threads);  // the ends of their shares
      for (size_t i = 0; i < tasks.size(); ++i) {
        EXPECT_EQ(tasks[i], 1);
        EXPECT_EQ(ranges[i], 1);
      }
    }
  }
}

// Whoever takes the first piece waits until all the others are done, its own share's too.
TEST_F(Threads, WhoIsDoneHelps) {
  set_num_threads(2);
  constexpr int64_t kCount = 1000;
  std::atomic<int64_t> done{0};
  std::atomic<bool> first{true}, helped{false};
  parallel_ranges(kCount, 1, [&](int64_t begin, int64_t end) {
    if (first.exchange(false)) {
      for (int i = 0; i < 5000 && done + end - begin < kCount; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      helped = done + end - begin == kCount;
    }
    done += end - begin;
  });
  EXPECT_TRUE(helped);
  EXPECT_EQ(done, kCount);
}

TEST_F(Threads, ExceptionsReachTheCaller) {
  set_num_threads(4);
  std::atomic<int> done{0};
  const auto run = [&] {
    parallel_tasks(100, [&](int64_t i) {
      if (i == 37) throw ValueError("task 37");
      ++done;
    });
  };
  expect_throws<ValueError>(run, {"task 37"});
  EXPECT_LE(done, 99);
  expect_throws<ShapeError>(
      [] { parallel_ranges(1000, 1, [](int64_t, int64_t) { throw ShapeError("all of them"); }); },
      {"all of them"});
  std::atomic<int> after{0};
  parallel_tasks(10, [&](int64_t) { ++after; });
  EXPECT_EQ(after, 10);
}

TEST_F(Threads, NestedRunsOnTheCallingThread) {
  set_num_threads(2);
  std::atomic<int> inner{0};
  parallel_tasks(4, [&](int64_t) {
    parallel_workers(8, [&](int worker, int workers) {
      EXPECT_EQ(worker, 0);
      EXPECT_EQ(workers, 1);
      ++inner;
    });
  });
  EXPECT_EQ(inner, 4);
}

// Between teams threads fall asleep, or not quite.
TEST_F(Threads, WakeAfterEveryPause) {
  set_num_threads(4);
  for (int pause = 0; pause < 400; ++pause) {
    std::atomic<int> present{0};
    parallel_workers(4, [&](int, int workers) { present += workers; });
    EXPECT_EQ(present, 16);
    std::this_thread::sleep_for(std::chrono::microseconds(pause));
  }
}

#ifdef __linux__
// A thread that wakes on its caller's core leaves it, but not what it was allowed to run on.
TEST_F(Threads, MayRunOnAllTheirCoresAfterAPause) {
  set_num_threads(4);
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  for (int pause = 0; pause < 20; ++pause) {
    std::atomic<int> as_before{0};
    parallel_workers(4, [&](int, int) {
      cpu_set_t own;
      if (sched_getaffinity(0, sizeof(own), &own) == 0 && CPU_EQUAL(&own, &allowed)) ++as_before;
    });
    EXPECT_EQ(as_before, 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}
#endif

TEST_F(Threads, SmallerTeamsLeaveTheOthersAlone) {
  for (const int size : {6, 2, 3, 1, 6}) {
    set_num_threads(size);
    for (int round = 0; round < 100; ++round) {
      std::atomic<int> seen{0};
      parallel_workers(size, [&](int worker, int workers) {
        EXPECT_EQ(workers, size);
        seen += 1 << worker;
      });
      EXPECT_EQ(seen, (1 << size) - 1);
    }
  }
}

// One of them has the team, the others work alone.
TEST_F(Threads, CallersAtOnceAllComeToAnEnd) {
  set_num_threads(3);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        parallel_ranges(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 200 * 100);
}

#ifndef __SANITIZE_THREAD__  // which forbids threads after fork()
TEST_F(Threads, AChildHasThreadsOfItsOwn) {
  set_num_threads(3);
  const auto members = [] {
    std::atomic<int> count{0};
    parallel_workers(3, [&](int, int) { ++count; });
    return count.load();
  };
  EXPECT_EQ(members(), 3);
  const pid_t child = fork();
  if (child == 0) _exit(members());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}
#endif

// What is asked for ahead may be gone the moment after, and is not kept from going.
TEST_F(Threads, MemoryThatIsFetchedIsGivenBack) {
  set_num_threads(2);
  std::weak_ptr<std::byte[]> watched;
  {
    const std::shared_ptr<std::byte[]> memory(new std::byte[1 << 20]());
    watched = memory;
    parallel_workers(2, [&](int worker, int) {
      const PieceAhead piece{{memory, memory.get()}, 1 << 20};
      if (worker > 0) fetch_while_waiting({&piece, 1});
    });
  }
  for (int i = 0; i < 5000 && !watched.expired(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace glassformer::testing
