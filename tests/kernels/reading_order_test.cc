#include "kernels/cpu/reading_order.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "glassformer/base/threads.h"

namespace glassformer::cpu {
namespace {

using Weight = std::shared_ptr<std::byte[]>;
constexpr size_t kBytes = 4096;

Weight weight(size_t bytes = kBytes) { return Weight(new std::byte[bytes]()); }
void read(const Weight& one) { begin_to_read(1, one, one.get(), kBytes); }

// What this thread holds, to fetch it, is let go at the end of a team's work that it called for.
void let_go() {
  parallel_workers(2, [](int, int) {});
}

class ReadingOrder : public ::testing::Test {
 protected:
  void SetUp() override { set_num_threads(2); }
  void TearDown() override { set_num_threads(before_); }
  int before_ = num_threads();
};

TEST_F(ReadingOrder, WhatCameNextIsHeldUntilItIsFetched) {
  const Weight first = weight(), second = weight(), third = weight();
  for (const Weight& one : {first, second, third}) read(one);
  let_go();
  EXPECT_EQ(second.use_count(), 1);
  read(first);
  EXPECT_EQ(second.use_count(), 2);
  EXPECT_EQ(third.use_count(), 2);  // there is room for it too
  let_go();
  EXPECT_EQ(second.use_count(), 1);
  EXPECT_EQ(third.use_count(), 1);
}

TEST_F(ReadingOrder, WhatFillsTheCacheIsTheLastToBeHeld) {
  constexpr size_t kMuch = size_t{1} << 22;
  const Weight first = weight(kMuch), second = weight(kMuch), third = weight(kMuch);
  const auto read_much = [](const Weight& one) { begin_to_read(1, one, one.get(), kMuch); };
  for (const Weight& one : {first, second, third}) read_much(one);
  let_go();
  read_much(first);
  EXPECT_EQ(second.use_count(), 2);
  EXPECT_EQ(third.use_count(), 1);
  let_go();
}

// It waits for the others alone: one piece is more than it has the time for.
TEST_F(ReadingOrder, TheCallerHoldsOnePiece) {
  const Weight first = weight(), second = weight(), third = weight();
  for (const Weight& one : {first, second, third}) read(one);
  begin_to_read(0, first, first.get(), kBytes);
  EXPECT_EQ(second.use_count(), 2);
  EXPECT_EQ(third.use_count(), 1);
  let_go();
  EXPECT_EQ(second.use_count(), 1);
}

TEST_F(ReadingOrder, AnotherOrderIsLearnt) {
  const Weight first = weight(), second = weight(), third = weight();
  for (const Weight& one : {first, second, first, third, first}) read(one);
  EXPECT_EQ(second.use_count(), 1);
  EXPECT_EQ(third.use_count(), 2);
  let_go();
}

TEST_F(ReadingOrder, AWeightThatIsGoneIsNotRead) {
  const Weight first = weight();
  Weight second = weight();
  const std::weak_ptr<std::byte[]> watched = second;
  for (const Weight& one : {first, second}) read(one);
  let_go();
  second.reset();
  EXPECT_TRUE(watched.expired());
  read(first);
  let_go();
}

}  // namespace
}  // namespace glassformer::cpu
