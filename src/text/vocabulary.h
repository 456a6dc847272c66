#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace glassformer {

// Tokens and their numbers, both ways. Numbers need not be dense, nor tokens UTF-8.
class Vocabulary {
 public:
  explicit Vocabulary(size_t expected = 0);

  // A token that is there already gets the new number.
  void add(std::string_view token, uint32_t id);

  size_t size() const { return entries_.size(); }
  std::optional<uint32_t> find(std::string_view token) const;
  // The token of `id`, the one added last where there are several.
  std::optional<std::string_view> token(uint32_t id) const;
  // One past the largest number; 0 where there is none.
  uint64_t id_end() const { return id_end_; }
  // visit(token, id) for each token, in the order in which they were added.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const Entry& entry : entries_) visit(text(entry), entry.id);
  }

 private:
  struct Entry {
    uint32_t id;
    uint32_t size;
    uint64_t begin;  // in bytes_
  };
  std::string_view text(const Entry& entry) const {
    return std::string_view(bytes_).substr(entry.begin, entry.size);
  }
  struct Slot {
    uint32_t entry = 0;  // its number + 1; 0 in a free slot
    uint32_t tag = 0;  // bits of the hash: most other tokens are told apart without a look at them
  };
  // The slot of the token, or the free one where it belongs.
  size_t slot(std::string_view token, uint64_t hash) const;
  void grow(size_t slots);
  void set_id(uint32_t id, uint32_t entry);

  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;                        // a power of two of them
  std::vector<uint32_t> dense_;                    // id -> entry + 1, or 0
  std::unordered_map<uint32_t, uint32_t> sparse_;  // ids far past the number of tokens
  uint64_t id_end_ = 0;
};

}  // namespace glassformer
