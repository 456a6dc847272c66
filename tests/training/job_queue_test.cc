#include "training/job_queue.h"

#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace glassformer {
namespace {

TEST(JobQueue, RunsJobsInTheirOrder) {
  std::vector<int> seen;
  JobQueue jobs;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) jobs.post([&seen, i] { seen.push_back(i); });
    jobs.wait();
    ASSERT_EQ(seen.size(), 1000U * static_cast<size_t>(round + 1));
    EXPECT_EQ(seen.back(), 999);
  }
}

TEST(JobQueue, EndsAfterTheLastJob) {
  int done = 0;
  {
    JobQueue jobs;
    for (int i = 0; i < 100; ++i) jobs.post([&] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

TEST(JobQueue, DropsWhatComesAfterAFailure) {
  int done = 0;
  JobQueue jobs;
  jobs.post([&] { ++done; });
  jobs.post([] { throw std::runtime_error("no route"); });
  jobs.post([&] { ++done; });
  EXPECT_THROW(jobs.wait(), std::runtime_error);
  EXPECT_TRUE(jobs.failed());
  jobs.post([&] { ++done; });
  EXPECT_THROW(jobs.wait(), std::runtime_error);
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace glassformer
