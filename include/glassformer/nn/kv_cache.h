#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

struct KeyValue {
  Tensor key, value;  // [key heads, places, size]
};

// Memory for the keys and values of tokens that were seen, in all layers of a stack. A token takes
// one place; a sequence is a list of places (CacheSequence), so that sequences share a beginning
// without a copy. All memory is reserved once.
//
// Not safe to use from several threads at once.
class KvCache {
 public:
  struct LayerSpec {
    int64_t key_heads, key_size, value_size;
  };
  // Throws ValueError for no layers or places.
  KvCache(std::span<const LayerSpec> layers, int64_t places, TensorOptions options);
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  int64_t places() const { return static_cast<int64_t>(users_.size()); }
  int64_t free_places() const { return static_cast<int64_t>(free_.size()); }
  const KeyValue& layer(int64_t index) const { return layers_.at(static_cast<size_t>(index)); }
  TensorOptions options() const { return layers_.front().key.options(); }

 private:
  friend class CacheSequence;
  int64_t take();  // throws MemoryError where none is free
  void share(int64_t place) { ++users_[static_cast<size_t>(place)]; }
  void give_back(int64_t place);

  std::vector<KeyValue> layers_;
  std::vector<int32_t> users_;  // sequences that hold each place
  std::vector<int64_t> free_;
};

// The places of one sequence, in order. A copy shares them with the original; what either appends
// after that is its own. Must not outlive its cache.
class CacheSequence {
 public:
  explicit CacheSequence(KvCache& cache) : cache_(&cache) {}
  CacheSequence(const CacheSequence& other);
  CacheSequence(CacheSequence&& other) noexcept;
  CacheSequence& operator=(CacheSequence other) noexcept;
  ~CacheSequence() { truncate(0); }

  int64_t length() const { return static_cast<int64_t>(places_.size()); }
  // A place is negative where its token was forgotten.
  std::span<const int64_t> places() const { return places_; }
  KvCache& cache() const { return *cache_; }

  // Takes places for `count` more tokens. Throws MemoryError, and takes none, where there are
  // fewer.
  void append(int64_t count);
  // Gives back the places of all but the first `length` tokens.
  void truncate(int64_t length);
  // Gives back the places of all but the last `length` tokens; these stay where they stand.
  void keep_last(int64_t length);

 private:
  KvCache* cache_;
  std::vector<int64_t> places_;
  int64_t forgotten_ = 0;  // tokens at the front without a place
};

// What one call sees of a cache: row by row, or part by part, packed end to end.
struct CacheRows {
  Tensor written = {};  // int64 [tokens]: where their keys and values go; none where all are there
  Tensor places = {};   // int64: of all the parts' keys, end to end
  Tensor query_starts = {}, key_starts = {};  // int64 [parts + 1]
  // Every part is one token: computed by cached_attention, alike in any batch. Otherwise prompts,
  // by the fused attention.
  bool steps = false;
  int64_t longest = 0;  // part, in keys
};

// What one call of a decoder sees: of its own cache, and of the encoder's output where it has one.
struct CacheCall {
  KvCache* self = nullptr;
  CacheRows self_rows = {};
  KvCache* cross = nullptr;
  CacheRows cross_rows = {};
};

}  // namespace glassformer
