#pragma once

#include <cstdint>
#include <span>

#include "glassformer/tensor/tensor.h"

namespace glassformer::cpu {

// Where each id of a list stands: a sort of the places by id, stable, that threads share, each with
// ids of its own.
class EmbeddingUses {
 public:
  struct Use {
    uint32_t place, id;
  };

  // ids int64, contiguous, each below `rows` or equal to `ignored`, which stands nowhere. Throws
  // ShapeError where there are 2^32 ids, or rows, or more.
  EmbeddingUses(const Tensor& ids, int64_t rows, int64_t ignored);

  int64_t count() const { return used_; }
  // Part number `part` of `parts`, without tearing the places of an id apart.
  std::span<const Use> part(int64_t part, int64_t parts) const;
  bool stands_somewhere(int64_t id) const;

 private:
  template <class F>
  void for_places(int64_t first_id, int64_t end_id, F&& f) const;
  int64_t border(int64_t i) const;

  Tensor ids_, memory_;
  int64_t places_, used_ = 0, ignored_;
  const int64_t* id_;
  Use* uses_;
  uint32_t* ends_;  // where the places of each id end
};

}  // namespace glassformer::cpu
