#pragma once

#include <functional>
#include <memory>
#include <thread>

namespace glassformer {

// A thread that runs jobs one after the other, in the order they came. After one has thrown, the
// ones behind it are dropped.
class JobQueue {
 public:
  JobQueue();
  ~JobQueue();  // after the last job
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  void post(std::function<void()> job);
  void wait();  // until all are done; throws what the first to fail has thrown, from then on always
  bool failed() const;
  // Leaves the thread to itself: for a job that may never end.
  void abandon();

 private:
  struct State;
  std::shared_ptr<State> state_;  // an abandoned thread needs it longer
  std::thread thread_;
};

}  // namespace glassformer
