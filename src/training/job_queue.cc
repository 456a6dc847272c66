#include "training/job_queue.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

namespace glassformer {

struct JobQueue::State {
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> jobs;
  std::exception_ptr failure;
  bool busy = false, closed = false;

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return closed || !jobs.empty(); });
      if (jobs.empty()) return;
      std::function<void()> job = std::move(jobs.front());
      jobs.pop_front();
      busy = true;
      lock.unlock();
      std::exception_ptr thrown;
      try {
        job();
      } catch (...) {
        thrown = std::current_exception();
      }
      job = nullptr;  // what it holds is free before anyone hears that it is done
      lock.lock();
      busy = false;
      if (thrown) failure = thrown, jobs.clear();
      changed.notify_all();
    }
  }
};

JobQueue::JobQueue()
    : state_(std::make_shared<State>()), thread_([state = state_] { state->work(); }) {}

JobQueue::~JobQueue() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
  }
  state_->changed.notify_all();
  thread_.join();
}

void JobQueue::post(std::function<void()> job) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->failure) return;
    state_->jobs.push_back(std::move(job));
  }
  state_->changed.notify_all();
}

void JobQueue::wait() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->jobs.empty() && !state_->busy; });
  if (state_->failure) std::rethrow_exception(state_->failure);
}

bool JobQueue::failed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failure != nullptr;
}

void JobQueue::abandon() { thread_.detach(); }

}  // namespace glassformer
