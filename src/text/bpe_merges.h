#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace glassformer {

// The merges of byte-pair encoding, and the merging itself.
class BpeMerges {
 public:
  struct Merge {
    uint64_t pair = kNoPair;  // left << 32 | right
    uint32_t rank = 0;
    uint32_t result = 0;
  };
  // A symbol of a result, and the first of the symbols that it is made of.
  struct Joined {
    uint32_t id, first;
    bool operator==(const Joined&) const = default;
  };
  // What merging needs, kept from call to call.
  struct Scratch {
    struct Symbol {
      uint32_t id, previous, next;
      bool gone;
    };
    std::vector<uint64_t> merges;
    std::vector<Symbol> symbols;
    std::vector<Joined> done, window, middle;
  };

  // Room for `count` merges.
  explicit BpeMerges(size_t count = 0);

  // Of two for the same pair the later one counts.
  void add(uint32_t left, uint32_t right, uint32_t rank, uint32_t result);

  // Joins the pair of neighbours whose merge has the lowest rank, leftmost first, until no pair has
  // a merge. `sizes` are those of the symbols in the text. The time grows linearly with the number
  // of symbols.
  void apply(std::vector<uint32_t>& ids, std::vector<uint32_t>& sizes, Scratch& scratch) const;

 private:
  static constexpr uint64_t kNoPair = UINT64_MAX;

  // Null where the pair has none.
  const Merge* find(uint32_t left, uint32_t right) const;
  void apply_short(std::vector<uint32_t>& ids, std::vector<uint32_t>& sizes,
                   std::vector<uint64_t>& merges) const;
  void apply_long(std::vector<uint32_t>& ids, std::vector<uint32_t>& sizes, Scratch& scratch) const;
  // The result for the symbols from `first` to before `last`, by themselves.
  void join(const std::vector<uint32_t>& ids, size_t first, size_t last, Scratch& scratch,
            std::vector<Joined>& result) const;
  // Appends scratch.window, the result for the symbols that follow up to `last`, to scratch.done;
  // false where the two cannot be put together near their border.
  bool append(const std::vector<uint32_t>& ids, size_t last, Scratch& scratch) const;

  std::vector<Merge> merges_;  // open addressing, a power of two of them
};

}  // namespace glassformer
