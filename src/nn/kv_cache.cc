#include "glassformer/nn/kv_cache.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace glassformer {

KvCache::KvCache(std::span<const LayerSpec> layers, int64_t places, TensorOptions options) {
  require<ValueError>(!layers.empty() && places >= 1,
                      "cache: expected at least one layer and place, found {} and {}",
                      layers.size(), places);
  for (const LayerSpec& layer : layers)
    layers_.push_back({empty({layer.key_heads, places, layer.key_size}, options),
                       empty({layer.key_heads, places, layer.value_size}, options)});
  users_.resize(static_cast<size_t>(places));
  // The lowest are taken first, so that a sequence alone lies in one piece.
  free_.resize(users_.size());
  std::iota(free_.rbegin(), free_.rend(), int64_t{0});
}

int64_t KvCache::take() {
  require<MemoryError>(!free_.empty(), "cache: all of its {} places are taken", places());
  const int64_t place = free_.back();
  free_.pop_back();
  users_[static_cast<size_t>(place)] = 1;
  return place;
}

void KvCache::give_back(int64_t place) {
  if (--users_[static_cast<size_t>(place)] == 0) free_.push_back(place);
}

CacheSequence::CacheSequence(const CacheSequence& other)
    : cache_(other.cache_), places_(other.places_), forgotten_(other.forgotten_) {
  for (const int64_t place : places_)
    if (place >= 0) cache_->share(place);
}

CacheSequence::CacheSequence(CacheSequence&& other) noexcept
    : cache_(other.cache_),
      places_(std::exchange(other.places_, {})),
      forgotten_(std::exchange(other.forgotten_, 0)) {}

CacheSequence& CacheSequence::operator=(CacheSequence other) noexcept {
  std::swap(cache_, other.cache_);
  std::swap(places_, other.places_);
  std::swap(forgotten_, other.forgotten_);
  return *this;
}

void CacheSequence::append(int64_t count) {
  require<MemoryError>(count <= cache_->free_places(),
                       "cache: expected room for {} tokens, found {} of {} places free", count,
                       cache_->free_places(), cache_->places());
  for (int64_t i = 0; i < count; ++i) places_.push_back(cache_->take());
}

void CacheSequence::truncate(int64_t length) {
  while (this->length() > length) {
    if (places_.back() >= 0) cache_->give_back(places_.back());
    places_.pop_back();
  }
  forgotten_ = std::min(forgotten_, this->length());
}

void CacheSequence::keep_last(int64_t length) {
  for (; forgotten_ < this->length() - length; ++forgotten_) {
    int64_t& place = places_[static_cast<size_t>(forgotten_)];
    if (place >= 0) cache_->give_back(place);
    place = -1;
  }
}

}  // namespace glassformer
