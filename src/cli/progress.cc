#include "cli/progress.h"

#include <unistd.h>

#include <fmt/format.h>

namespace glassformer {
namespace {

constexpr double kSilent = 1.0;                       // seconds at the beginning
constexpr double kBarPause = 0.1, kLinePause = 10.0;  // seconds between two

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

Progress::Progress(std::string what, int64_t total, int64_t before)
    : what_(std::move(what)),
      total_(total),
      before_(before),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (terminal_ && drawn_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(int64_t done, const std::string& note) {
  const auto now = Clock::now();
  const double seconds = seconds_between(start_, now);
  const double pause = drawn_ ? (terminal_ ? kBarPause : kLinePause) : kSilent;
  if (total_ <= 0 || seconds_between(last_, now) < pause) return;
  last_ = now;
  drawn_ = true;
  draw(done, seconds, note);
}

void Progress::say(const std::string& line) {
  fmt::print(stderr, "{}{}\n", terminal_ && drawn_ ? "\r\033[K" : "", line);
}

void Progress::draw(int64_t done, double seconds, const std::string& note) {
  const double rate = static_cast<double>(done - before_) / seconds;
  const std::string left =
      done > before_ ? fmt::format(", {:.0f} s left", static_cast<double>(total_ - done) / rate)
                     : "";
  if (!terminal_) {
    fmt::print(stderr, "{} of {} {}{}{}\n", done, total_, what_, note, left);
    return;
  }
  constexpr int64_t kWidth = 30;
  const auto filled = static_cast<size_t>(kWidth * done / total_);
  fmt::print(stderr, "\r[{}{}] {}/{} {}, {:.1f}/s{}{}\033[K", std::string(filled, '='),
             std::string(kWidth - filled, ' '), done, total_, what_, rate, note, left);
  std::fflush(stderr);
}

}  // namespace glassformer
