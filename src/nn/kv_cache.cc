#include "glassformer/nn/kv_cache.h"

#include "base/check.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/view.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

constexpr int kLengthAxis = 2;

Tensor reserved(const Tensor& like, int64_t capacity) {
  return empty(like.shape().with(kLengthAxis, capacity), like.options());
}

void write(const Tensor& memory, const Tensor& next, int64_t at) {
  copy_(slice(memory, kLengthAxis, at, at + next.size(kLengthAxis)), next);
}

void check_fits(const char* what, const Tensor& memory, const Tensor& next) {
  require<ShapeError>(next.shape().with(kLengthAxis, 0) == memory.shape().with(kLengthAxis, 0),
                      "cache: expected {} like {}, found {}", what, memory.shape(), next.shape());
}

}  // namespace

KeyValue LayerCache::append(const KeyValue& next) {
  const int64_t count = next.key.size(kLengthAxis);
  require<ValueError>(count <= capacity_ - length_,
                      "cache: {} tokens are held and {} came; it was made for {}", length_, count,
                      capacity_);
  if (!memory_.key.defined())
    memory_ = {reserved(next.key, capacity_), reserved(next.value, capacity_)};
  check_fits("keys", memory_.key, next.key);
  check_fits("values", memory_.value, next.value);
  write(memory_.key, next.key, length_);
  write(memory_.value, next.value, length_);
  length_ += count;
  return held();
}

KeyValue LayerCache::held() const {
  return {slice(memory_.key, kLengthAxis, 0, length_),
          slice(memory_.value, kLengthAxis, 0, length_)};
}

KvCache::KvCache(int64_t layers, int64_t capacity) : capacity_(capacity) {
  require<ValueError>(layers >= 1 && capacity >= 1,
                      "cache: expected at least one layer and place, found {} and {}", layers,
                      capacity);
  self_.assign(static_cast<size_t>(layers), LayerCache(capacity));
  cross_.resize(static_cast<size_t>(layers));
}

}  // namespace glassformer
