#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "decoding/pattern.h"

namespace glassformer {

// A deterministic automaton over bytes whose states are worked out when they are first reached.
// From every state but kDead the pattern can still be completed.
class Automaton {
 public:
  static constexpr int32_t kDead = -1;

  // Throws ValueError for a pattern that needs more than 200,000 states without determinism.
  explicit Automaton(const PatternPtr& pattern);

  int32_t start() const { return 0; }
  // Throws ValueError where the states or the work for them pass a limit: a hostile pattern.
  int32_t next(int32_t state, uint8_t byte) {
    const int32_t known = states_[static_cast<size_t>(state)].next[byte];
    return known != kUnknown ? known : work_out(state, byte);
  }
  bool accepts(int32_t state) const { return states_[static_cast<size_t>(state)].accepts; }

 private:
  static constexpr int32_t kUnknown = -2;
  struct Node {  // of the automaton without determinism
    bool is_byte = false;
    uint8_t low = 0, high = 0;
    int32_t next = -1, other = -1;  // of a node that reads nothing, two ways to go
  };
  struct State {
    std::vector<int32_t> nodes;  // those that read a byte, sorted
    bool accepts = false;
    std::array<int32_t, 256> next;
  };

  int32_t add_node(Node node);
  // The node from which `pattern` and then `after` is read.
  int32_t build(const Pattern& pattern, int32_t after);
  int32_t build_repeat(const Pattern& pattern, int32_t after);
  int32_t work_out(int32_t state, uint8_t byte);
  void close_over(int32_t node, State& state);
  int32_t intern(State state);

  std::vector<Node> nodes_;
  std::vector<uint32_t> visited_;  // by node: the last closure that came by
  uint32_t closure_ = 0;
  std::vector<State> states_;
  std::map<std::pair<std::vector<int32_t>, bool>, int32_t> known_;
  std::vector<int32_t> stack_;
  uint64_t work_ = 0;
};

}  // namespace glassformer
