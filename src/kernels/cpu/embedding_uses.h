#pragma once

#include <cstdint>
#include <span>

#include "glassformer/tensor/tensor.h"

namespace glassformer::cpu {

// Where each id of a list stands, for sums over the places of an id: a sort of the places by id,
// stable, in two steps that threads share. First by blocks of ids, each thread a part of the list;
// then within a block, which is left to whoever works on it and stays in its cache.
class EmbeddingUses {
 public:
  static constexpr int kMostRowBits = 11;
  static constexpr int64_t kMostRows = int64_t{1} << kMostRowBits;  // ids of a block

  // ids int64, contiguous, each below `rows` or equal to `ignored`, which stands nowhere.
  EmbeddingUses(const Tensor& ids, int64_t rows, int64_t ignored);

  int64_t blocks() const { return blocks_; }
  struct Rows {
    int64_t begin, end;
  };
  Rows rows(int64_t block) const;

  // The places of a block's ids, id by id; those of its id number i end at ends[i]. For one thread
  // a block.
  std::span<const int64_t> sort(int64_t block, std::span<int64_t, kMostRows> ends) const;

 private:
  void sort_by_block(int64_t ignored);

  Tensor ids_, memory_;
  int64_t rows_, blocks_;
  int shift_;  // a block has 2^shift ids
  const int64_t* id_;
  int64_t* begin_;     // of each block's places, and the end of the last
  int64_t* by_block_;  // a place, and in the low kMostRowBits which id of its block stands there
  int64_t* by_id_;     // places
};

}  // namespace glassformer::cpu
