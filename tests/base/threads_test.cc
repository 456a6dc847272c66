#include "glassformer/base/threads.h"

#include <atomic>
#include <chrono>
#include <thread>
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

}  // namespace
}  // namespace glassformer::testing
