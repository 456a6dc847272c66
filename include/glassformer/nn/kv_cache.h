#pragma once

#include <cstdint>
#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

struct KeyValue {
  Tensor key, value;  // [batch, key heads, length, size]
};

// The keys and values of one attention, kept while a sequence grows. The memory is reserved once,
// for `capacity` places.
class LayerCache {
 public:
  explicit LayerCache(int64_t capacity) : capacity_(capacity) {}

  int64_t length() const { return length_; }
  // Copies the new ones behind those that are there, and gives views of all of them.
  // Throws ValueError where they do not fit, ShapeError for another batch, heads or size.
  KeyValue append(const KeyValue& next);
  KeyValue held() const;

 private:
  int64_t capacity_, length_ = 0;
  KeyValue memory_;
};

// Of a decoder: its own keys and values, which grow, and those of the encoder's output, which are
// computed once.
class KvCache {
 public:
  // `layers` of a decoder, for at most `capacity` tokens.
  KvCache(int64_t layers, int64_t capacity);

  int64_t length() const { return self_.empty() ? 0 : self_.front().length(); }
  int64_t capacity() const { return capacity_; }
  LayerCache& self(int64_t layer) { return self_.at(static_cast<size_t>(layer)); }
  KeyValue& cross(int64_t layer) { return cross_.at(static_cast<size_t>(layer)); }

 private:
  int64_t capacity_;
  std::vector<LayerCache> self_;
  std::vector<KeyValue> cross_;
};

}  // namespace glassformer
