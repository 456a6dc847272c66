#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace glassformer {

// How far a long command is, on stderr: a bar that is drawn again and again on a terminal, now and
// then a plain line otherwise. Silent for the first moment, and where `total` is 0.
class Progress {
 public:
  // `before` were done already when it begins.
  Progress(std::string what, int64_t total, int64_t before = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void say(const std::string& line);  // above the bar
  // `note` is shown after it.
  void update(int64_t done, const std::string& note = {});

 private:
  using Clock = std::chrono::steady_clock;
  void draw(int64_t done, double seconds, const std::string& note);

  std::string what_;
  int64_t total_, before_;
  bool terminal_, drawn_ = false;
  Clock::time_point start_, last_;
};

}  // namespace glassformer
