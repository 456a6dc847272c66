#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/hash.h"

namespace glassformer {

// A token of a piece of text: its number, and the bytes of the piece that it covers.
struct PieceToken {
  uint32_t id;
  uint32_t begin, end;
};

// Remembers the tokens of the words met so far, because most of a text is words met before. When it
// is full it forgets all of them.
class WordCache {
 public:
  // Null where the word is not known. `slot` is then where insert() puts it.
  std::span<const PieceToken> find(std::string_view word, size_t& slot) const {
    const uint64_t hash = hash_text(word);
    slot = hash & (kSlots - 1);
    if (slots_.empty()) return {};
    for (size_t step = 0; step < kProbes; ++step, slot = (slot + 1) & (kSlots - 1)) {
      const Slot& s = slots_[slot];
      if (s.count == 0) return {};
      if (s.hash == hash && std::string_view(bytes_).substr(s.begin, s.size) == word)
        return {tokens_.data() + s.first, s.count};
    }
    return {};
  }

  void insert(std::string_view word, size_t slot, std::span<const PieceToken> tokens) {
    if (word.size() > kLongest || tokens.empty()) return;
    if (slots_.empty() || bytes_.size() > kBytes || used_ > kSlots / 2) clear();
    Slot& s = slots_[slot];
    used_ += s.count == 0;
    s = {hash_text(word), static_cast<uint32_t>(bytes_.size()),
         static_cast<uint32_t>(tokens_.size()), static_cast<uint16_t>(word.size()),
         static_cast<uint16_t>(tokens.size())};
    bytes_ += word;
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }

 private:
  static constexpr size_t kSlots = 1 << 15;
  static constexpr size_t kProbes = 8;
  static constexpr size_t kLongest = 256;
  static constexpr size_t kBytes = 1 << 20;

  struct Slot {
    uint64_t hash = 0;
    uint32_t begin = 0;  // in bytes_
    uint32_t first = 0;  // in tokens_
    uint16_t size = 0;
    uint16_t count = 0;  // of tokens; 0 in a free slot
  };

  void clear() {
    slots_.assign(kSlots, {});
    bytes_.clear();
    tokens_.clear();
    used_ = 0;
  }

  std::vector<Slot> slots_;
  std::string bytes_;
  std::vector<PieceToken> tokens_;
  size_t used_ = 0;
};

}  // namespace glassformer
