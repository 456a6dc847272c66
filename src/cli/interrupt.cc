#include "cli/interrupt.h"

#include <csignal>

namespace glassformer {
namespace {

volatile std::sig_atomic_t asked_to_stop = 0;

void ask(int) {
  asked_to_stop = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  asked_to_stop = 0;
  std::signal(SIGINT, ask);
}
Interrupt::~Interrupt() { std::signal(SIGINT, SIG_DFL); }

bool Interrupt::asked() const { return asked_to_stop != 0; }

}  // namespace glassformer
