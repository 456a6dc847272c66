#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace glassformer {

// Strings, found by walking a text: the children of a node lie side by side, sorted by their byte.
class Trie {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Key {
    std::string_view text;  // not kept
    uint32_t value;
  };
  Trie() = default;
  // Of two equal keys the later one counts; empty ones are left out.
  explicit Trie(std::vector<Key> keys);

  // visit(size, value) for every key that `text` begins with, from the shortest on.
  template <class Visit>
  void prefixes(std::string_view text, Visit&& visit) const {
    uint32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (node == kNone) return;
      if (nodes_[node].value != kNone) visit(i + 1, nodes_[node].value);
    }
  }
  bool empty() const { return nodes_.size() <= 1; }
  // Whether any key begins with this byte.
  bool begins(unsigned char byte) const { return !nodes_.empty() && root_[byte] != kNone; }

 private:
  struct Node {
    uint32_t first = 0;  // child
    uint16_t count = 0;  // of children
    uint8_t byte = 0;    // that leads to this node
    uint32_t value = kNone;
  };
  uint32_t child(uint32_t node, unsigned char byte) const {
    if (nodes_.empty()) return kNone;
    if (node == 0) return root_[byte];
    const Node& parent = nodes_[node];
    uint32_t low = parent.first;
    uint32_t high = low + parent.count;
    while (high - low > 8) {
      const uint32_t middle = (low + high) / 2;
      (nodes_[middle].byte <= byte ? low : high) = middle;
    }
    for (; low < high; ++low)
      if (nodes_[low].byte == byte) return low;
    return kNone;
  }

  std::vector<Node> nodes_;
  std::vector<uint32_t> root_;  // the children of the root, by their byte
};

}  // namespace glassformer
