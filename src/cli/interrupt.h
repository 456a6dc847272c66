#pragma once

namespace glassformer {

// Ctrl-C asks to stop: while one of these lives, the first one only sets a flag, so that a command
// can end cleanly; the second one kills as ever.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool asked() const;
};

// What a command that was interrupted exits with.
constexpr int kInterrupted = 130;
struct Interrupted {};  // thrown to main() once everything is tidy

}  // namespace glassformer
