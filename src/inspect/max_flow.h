#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace glassformer {

// A network with capacities, and the most that can flow through it from one node to another
// (Dinitz 1970: shortest augmenting paths, level by level).
class FlowNetwork {
 public:
  explicit FlowNetwork(int64_t nodes) : edges_of_(static_cast<size_t>(nodes)) {}

  // Edges without capacity are left out.
  void add(int64_t from, int64_t to, double capacity);
  // Starts from an empty network each time.
  double max_flow(int64_t source, int64_t sink);

 private:
  // Each is followed by its reverse.
  struct Edge {
    int64_t to;
    double capacity, left;
  };
  bool find_levels(int64_t source, int64_t sink);
  double push(int64_t node, int64_t sink, double most);

  std::vector<Edge> edges_;
  std::vector<std::vector<size_t>> edges_of_;
  std::vector<int64_t> level_;  // steps from the source, -1 out of reach
  std::vector<size_t> next_;    // of a node's edges, the first that may still carry more
};

}  // namespace glassformer
