#include "decoding/automaton.h"

#include <algorithm>

#include "base/check.h"

namespace glassformer {
namespace {

constexpr size_t kMostNodes = 200000;
constexpr size_t kMostStates = 20000;
constexpr uint64_t kMostWork = 400000000;  // visits of nodes: some seconds
constexpr int32_t kAccept = 0;             // the node that is reached at the end

}  // namespace

Automaton::Automaton(const PatternPtr& pattern) {
  add_node({});
  const int32_t first = build(*pattern, kAccept);
  visited_.assign(nodes_.size(), 0);
  State start;
  ++closure_;
  close_over(first, start);
  intern(std::move(start));
}

int32_t Automaton::add_node(Node node) {
  require<ValueError>(nodes_.size() < kMostNodes,
                      "constraint: the pattern needs more than {} states", kMostNodes);
  nodes_.push_back(node);
  return static_cast<int32_t>(nodes_.size()) - 1;
}

int32_t Automaton::build(const Pattern& pattern, int32_t after) {
  switch (pattern.kind) {
    case Pattern::Kind::kByte:
      return add_node({.is_byte = true, .low = pattern.low, .high = pattern.high, .next = after});
    case Pattern::Kind::kSequence:
      for (size_t i = pattern.parts.size(); i-- > 0;) after = build(*pattern.parts[i], after);
      return after;
    case Pattern::Kind::kChoice: {
      int32_t first = -1;
      for (size_t i = pattern.parts.size(); i-- > 0;) {
        const int32_t way = build(*pattern.parts[i], after);
        first = first < 0 ? way : add_node({.next = way, .other = first});
      }
      return first;
    }
    case Pattern::Kind::kRepeat: return build_repeat(pattern, after);
  }
  return after;
}

int32_t Automaton::build_repeat(const Pattern& pattern, int32_t after) {
  const Pattern& part = *pattern.parts[0];
  int32_t first = after;
  if (!pattern.max) {
    const int32_t loop = add_node({.next = after});
    const int32_t body = build(part, loop);
    nodes_[static_cast<size_t>(loop)].other = body;
    first = loop;
  } else {
    // Each optional one can be left for the end at once.
    for (int64_t i = pattern.min; i < *pattern.max; ++i) {
      const int32_t body = build(part, first);
      first = add_node({.next = body, .other = after});
    }
  }
  for (int64_t i = 0; i < pattern.min; ++i) {
    const int32_t before = first;
    first = build(part, before);
    // A part that reads nothing would let a count run on without end.
    if (first == before) break;
  }
  return first;
}

void Automaton::close_over(int32_t node, State& state) {
  stack_.assign(1, node);
  while (!stack_.empty()) {
    const int32_t at = stack_.back();
    stack_.pop_back();
    if (at < 0 || visited_[static_cast<size_t>(at)] == closure_) continue;
    visited_[static_cast<size_t>(at)] = closure_;
    ++work_;
    const Node& one = nodes_[static_cast<size_t>(at)];
    if (at == kAccept) {
      state.accepts = true;
    } else if (one.is_byte) {
      state.nodes.push_back(at);
    } else {
      stack_.push_back(one.other);
      stack_.push_back(one.next);
    }
  }
}

int32_t Automaton::work_out(int32_t from, uint8_t byte) {
  State to;
  ++closure_;
  const auto& nodes = states_[static_cast<size_t>(from)].nodes;
  work_ += nodes.size();
  for (const int32_t node : nodes) {
    const Node& one = nodes_[static_cast<size_t>(node)];
    if (one.low <= byte && byte <= one.high) close_over(one.next, to);
  }
  require<ValueError>(work_ < kMostWork, "constraint: the pattern is too costly to follow");
  const int32_t next = to.nodes.empty() && !to.accepts ? kDead : intern(std::move(to));
  return states_[static_cast<size_t>(from)].next[byte] = next;
}

int32_t Automaton::intern(State state) {
  std::sort(state.nodes.begin(), state.nodes.end());
  const auto [place, is_new] =
      known_.try_emplace({state.nodes, state.accepts}, static_cast<int32_t>(states_.size()));
  if (!is_new) return place->second;
  require<ValueError>(states_.size() < kMostStates,
                      "constraint: the pattern needs more than {} deterministic states",
                      kMostStates);
  work_ += state.nodes.size() * 64;  // memory counts too
  state.next.fill(kUnknown);
  states_.push_back(std::move(state));
  return place->second;
}

}  // namespace glassformer
