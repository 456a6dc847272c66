// The plan of an epoch and the loader that follows it.

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "glassformer/training/batch_loader.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

// Examples whose lengths go round; a batch is their numbers, and a word that is drawn for each.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t count, int64_t broken = -1) : count_(count), broken_(broken) {}
  int64_t size() const override { return count_; }
  int64_t length(int64_t example) const override { return 1 + example * 7 % 23; }
  Batch collate(std::span<const int64_t> examples, RandomKey key) const override {
    std::vector<int64_t> values;
    for (const int64_t example : examples) {
      if (example == broken_) throw FileError("example is broken");
      values.push_back(example);
      values.push_back(philox(key, static_cast<uint64_t>(example))[0]);
    }
    ++made;
    Batch batch;
    batch.targets = from_vector(values, {static_cast<int64_t>(examples.size()), 2});
    return batch;
  }
  mutable std::atomic<int> made = 0;

 private:
  int64_t count_, broken_;
};

std::vector<int64_t> values_of(const Batch& batch) {
  return batch.targets.defined() ? batch.targets.to_vector<int64_t>() : std::vector<int64_t>{};
}

std::vector<std::vector<int64_t>> batches_of(const BatchPlan& plan) {
  std::vector<std::vector<int64_t>> batches;
  for (int64_t i = 0; i < plan.size(); ++i) batches.emplace_back(plan[i].begin(), plan[i].end());
  return batches;
}

void expect_all_once(const BatchPlan& plan, int64_t examples) {
  std::multiset<int64_t> seen;
  for (const auto& batch : batches_of(plan)) seen.insert(batch.begin(), batch.end());
  ASSERT_EQ(static_cast<int64_t>(seen.size()), examples);
  int64_t next = 0;
  for (const int64_t example : seen) EXPECT_EQ(example, next++);
}

TEST(BatchPlan, EveryExampleOnce) {
  for (const int64_t count : {1, 7, 100, 101}) {
    const Numbers data(count);
    expect_all_once(BatchPlan(data, {.size = 10}, 1, 0), count);
    expect_all_once(BatchPlan(data, {.size = 10, .shuffle = false}, 1, 0), count);
    expect_all_once(BatchPlan(data, {.tokens = 64}, 1, 0), count);
    expect_all_once(BatchPlan(data, {.tokens = 1}, 1, 3), count);
    expect_all_once(BatchPlan(data, {.tokens = 64, .shuffle = false}, 1, 0), count);
  }
}

TEST(BatchPlan, DropLast) {
  EXPECT_EQ(BatchPlan(Numbers(25), {.size = 10}, 1, 0).size(), 3);
  EXPECT_EQ(BatchPlan(Numbers(25), {.size = 10, .drop_last = true}, 1, 0).size(), 2);
  EXPECT_EQ(BatchPlan(Numbers(20), {.size = 10, .drop_last = true}, 1, 0).size(), 2);
  EXPECT_EQ(BatchPlan(Numbers(5), {.size = 10, .drop_last = true}, 1, 0).size(), 0);
  EXPECT_EQ(BatchPlan(Numbers(0), {.size = 10}, 1, 0).size(), 0);
  EXPECT_EQ(BatchPlan(Numbers(0), {.tokens = 10}, 1, 0).size(), 0);
}

TEST(BatchPlan, DependsOnSeedAndEpochAlone) {
  const Numbers data(100);
  for (const BatchOptions& options : {BatchOptions{.size = 8}, BatchOptions{.tokens = 64}}) {
    const auto plan = batches_of(BatchPlan(data, options, 5, 2));
    EXPECT_EQ(plan, batches_of(BatchPlan(data, options, 5, 2)));
    EXPECT_NE(plan, batches_of(BatchPlan(data, options, 6, 2)));
    EXPECT_NE(plan, batches_of(BatchPlan(data, options, 5, 3)));
  }
  // Recorded: a plan must not change from one version to the next, or no run could be resumed.
  const auto first = batches_of(BatchPlan(Numbers(10), {.size = 10}, 1, 0));
  EXPECT_EQ(first[0], (std::vector<int64_t>{9, 1, 6, 3, 5, 4, 7, 0, 2, 8}));
}

TEST(BatchPlan, TokensBoundWhatABatchHolds) {
  const Numbers data(500);
  const BatchPlan plan(data, {.tokens = 100}, 1, 0);
  int64_t places = 0, tokens = 0;
  for (const auto& batch : batches_of(plan)) {
    int64_t longest = 0;
    for (const int64_t example : batch) {
      longest = std::max(longest, data.length(example));
      tokens += data.length(example);
    }
    const int64_t held = longest * static_cast<int64_t>(batch.size());
    EXPECT_LE(held, 100);
    places += held;
  }
  EXPECT_LT(places, tokens * 1.05);  // like lengths stand together
}

TEST(BatchPlan, PartsMakeUpTheBatch) {
  const Numbers data(50);
  const BatchPlan plan(data, {.size = 10}, 1, 0);
  for (const int ranks : {1, 3, 4, 16}) {
    std::vector<int64_t> all;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto part = plan.part(2, rank, ranks);
      EXPECT_LE(part.size(), (10 + static_cast<size_t>(ranks) - 1) / static_cast<size_t>(ranks));
      all.insert(all.end(), part.begin(), part.end());
    }
    EXPECT_EQ(all, std::vector<int64_t>(plan[2].begin(), plan[2].end()));
  }
}

TEST(BatchPlan, RefusesOptions) {
  const Numbers data(5);
  expect_throws<ValueError>([&] { BatchPlan(data, {}, 1, 0); }, "found 0 and 0");
  expect_throws<ValueError>([&] { BatchPlan(data, {.size = 1, .tokens = 1}, 1, 0); },
                            "found 1 and 1");
  expect_throws<ValueError>([&] { BatchPlan(data, {.size = -1}, 1, 0); }, "found -1 and 0");
}

TEST(BatchLoader, FollowsThePlanAndResumes) {
  const Numbers data(53);
  const BatchOptions options{.tokens = 60};
  BatchLoader whole(data, options, 9);
  std::vector<std::vector<int64_t>> batches;
  std::vector<DataPosition> positions;
  const int64_t count = 3 * whole.batches_in_epoch() + 2;
  for (int64_t i = 0; i < count; ++i) {
    positions.push_back(whole.position());
    batches.push_back(values_of(whole.next()));
  }
  EXPECT_EQ(whole.position(), (DataPosition{3, 2}));
  for (const int64_t from : {int64_t{1}, whole.batches_in_epoch(), count - 3}) {
    BatchLoader rest(data, options, 9, positions[static_cast<size_t>(from)]);
    for (int64_t i = from; i < count; ++i)
      EXPECT_EQ(values_of(rest.next()), batches[static_cast<size_t>(i)]);
    EXPECT_EQ(rest.position(), whole.position());
  }
  // The end of an epoch and the start of the next are one place.
  BatchLoader next(data, options, 9, {0, whole.batches_in_epoch()});
  EXPECT_EQ(next.position(), (DataPosition{1, 0}));
  EXPECT_EQ(values_of(next.next()), batches[static_cast<size_t>(whole.batches_in_epoch())]);
}

TEST(BatchLoader, RanksShareABatch) {
  const Numbers data(21);
  BatchLoader whole(data, {.size = 5}, 3);
  std::vector<std::unique_ptr<BatchLoader>> parts;
  for (int rank = 0; rank < 4; ++rank)
    parts.push_back(
        std::make_unique<BatchLoader>(data, BatchOptions{.size = 5}, 3, DataPosition{}, rank, 4));
  int empty = 0;
  for (int i = 0; i < 12; ++i) {
    std::vector<int64_t> all;
    for (const auto& part : parts) {
      const Batch batch = part->next();
      empty += !batch.targets.defined();
      const auto values = values_of(batch);
      all.insert(all.end(), values.begin(), values.end());
    }
    EXPECT_EQ(all, values_of(whole.next()));
  }
  EXPECT_EQ(empty, 6);  // the last batch of an epoch has one example
}

TEST(BatchLoader, CarriesErrors) {
  const Numbers data(10, 4);
  BatchLoader loader(data, {.size = 2, .shuffle = false}, 1);
  loader.next();
  loader.next();
  for (int i = 0; i < 2; ++i) expect_throws<FileError>([&] { loader.next(); }, "example is broken");
  EXPECT_EQ(loader.position(), (DataPosition{0, 2}));
  expect_throws<ValueError>([] { BatchLoader(Numbers(0), {.size = 1}, 1); }, "at least one batch");
  expect_throws<ValueError>([&] { BatchLoader(data, {.size = 2}, 1, {0, 6}); }, "5 batches");
}

TEST(BatchLoader, MakesAFewAheadAndStops) {
  const Numbers data(1000);
  {
    BatchLoader loader(data, {.size = 1}, 1);
    loader.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_LE(data.made, 8);
  }
  for (int i = 0; i < 50; ++i) BatchLoader(data, {.size = 1}, 1);
}

}  // namespace
}  // namespace glassformer::testing
