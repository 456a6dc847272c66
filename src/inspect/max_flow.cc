#include "inspect/max_flow.h"

#include <algorithm>
#include <limits>

namespace glassformer {
namespace {

// What is left of a capacity after sums that round.
constexpr double kNothing = 1e-12;

}  // namespace

void FlowNetwork::add(int64_t from, int64_t to, double capacity) {
  if (!(capacity > 0)) return;
  edges_of_[static_cast<size_t>(from)].push_back(edges_.size());
  edges_.push_back({to, capacity, capacity});
  edges_of_[static_cast<size_t>(to)].push_back(edges_.size());
  edges_.push_back({from, 0, 0});
}

bool FlowNetwork::find_levels(int64_t source, int64_t sink) {
  level_.assign(edges_of_.size(), -1);
  level_[static_cast<size_t>(source)] = 0;
  std::vector<int64_t> reached{source};
  for (size_t i = 0; i < reached.size(); ++i) {
    const auto node = static_cast<size_t>(reached[i]);
    for (const size_t at : edges_of_[node]) {
      int64_t& level = level_[static_cast<size_t>(edges_[at].to)];
      if (level >= 0 || edges_[at].left <= kNothing) continue;
      level = level_[node] + 1;
      reached.push_back(edges_[at].to);
    }
  }
  return level_[static_cast<size_t>(sink)] >= 0;
}

// As deep as the network has levels, which are a model's layers and a few detours.
double FlowNetwork::push(int64_t node, int64_t sink, double most) {
  if (node == sink) return most;
  const auto from = static_cast<size_t>(node);
  double pushed = 0;
  for (size_t& i = next_[from]; i < edges_of_[from].size(); ++i) {
    const size_t at = edges_of_[from][i];
    const int64_t to = edges_[at].to;
    if (edges_[at].left <= kNothing || level_[static_cast<size_t>(to)] != level_[from] + 1)
      continue;
    const double part = push(to, sink, std::min(most - pushed, edges_[at].left));
    edges_[at].left -= part;
    edges_[at ^ 1].left += part;
    pushed += part;
    if (most - pushed <= kNothing) return pushed;  // the edge may carry more: it stays the next
  }
  return pushed;
}

double FlowNetwork::max_flow(int64_t source, int64_t sink) {
  for (Edge& edge : edges_) edge.left = edge.capacity;
  double flow = 0;
  while (find_levels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    const double more = push(source, sink, std::numeric_limits<double>::infinity());
    if (more <= kNothing) break;
    flow += more;
  }
  return flow;
}

}  // namespace glassformer
