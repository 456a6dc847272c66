#include "text/trie.h"

#include <algorithm>

namespace glassformer {

Trie::Trie(std::vector<Key> keys) {
  std::erase_if(keys, [](const Key& key) { return key.text.empty(); });
  std::stable_sort(keys.begin(), keys.end(),
                   [](const Key& a, const Key& b) { return a.text < b.text; });
  // Breadth first, so that the children of a node come out side by side. Node i stands for the
  // keys of ranges[i], which share their first `depth` bytes.
  struct Range {
    size_t begin, end, depth;
  };
  std::vector<Range> ranges = {{0, keys.size(), 0}};
  nodes_.emplace_back();
  for (size_t i = 0; i < ranges.size(); ++i) {
    auto [begin, end, depth] = ranges[i];
    while (begin < end && keys[begin].text.size() == depth) nodes_[i].value = keys[begin++].value;
    nodes_[i].first = static_cast<uint32_t>(nodes_.size());
    while (begin < end) {
      const char byte = keys[begin].text[depth];
      size_t stop = begin + 1;
      while (stop < end && keys[stop].text[depth] == byte) ++stop;
      ++nodes_[i].count;
      nodes_.push_back({.byte = static_cast<uint8_t>(byte)});
      ranges.push_back({begin, stop, depth + 1});
      begin = stop;
    }
  }
  root_.assign(256, kNone);
  for (uint32_t i = 0; i < nodes_[0].count; ++i)
    root_[nodes_[nodes_[0].first + i].byte] = nodes_[0].first + i;
}

}  // namespace glassformer
