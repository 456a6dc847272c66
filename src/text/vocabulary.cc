#include "text/vocabulary.h"

#include <algorithm>
#include <bit>

#include "text/hash.h"

namespace glassformer {
namespace {

// Ids below this are looked up in an array, which so stays small whatever a file says.
constexpr size_t kDense = size_t{1} << 22;

uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

}  // namespace

Vocabulary::Vocabulary(size_t expected) {
  entries_.reserve(expected);
  bytes_.reserve(expected * 8);
  grow(std::bit_ceil(std::max<size_t>(16, expected * 2)));
}

size_t Vocabulary::slot(std::string_view token, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at].entry != 0; at = (at + 1) & mask)
    if (slots_[at].tag == tag_of(hash) && text(entries_[slots_[at].entry - 1]) == token) break;
  return at;
}

void Vocabulary::grow(size_t slots) {
  slots_.assign(slots, {});
  for (size_t i = 0; i < entries_.size(); ++i) {
    const uint64_t hash = hash_text(text(entries_[i]));
    slots_[slot(text(entries_[i]), hash)] = {static_cast<uint32_t>(i + 1), tag_of(hash)};
  }
}

void Vocabulary::set_id(uint32_t id, uint32_t entry) {
  id_end_ = std::max<uint64_t>(id_end_, uint64_t{id} + 1);
  if (id >= kDense) {
    sparse_[id] = entry;
    return;
  }
  if (id >= dense_.size()) dense_.resize(std::max<size_t>(id + 1, dense_.size() * 2), 0);
  dense_[id] = entry + 1;
}

void Vocabulary::add(std::string_view token, uint32_t id) {
  if (entries_.size() * 2 >= slots_.size()) grow(slots_.size() * 2);
  const uint64_t hash = hash_text(token);
  Slot& place = slots_[slot(token, hash)];
  if (place.entry == 0) {
    entries_.push_back({id, static_cast<uint32_t>(token.size()), bytes_.size()});
    bytes_ += token;
    place = {static_cast<uint32_t>(entries_.size()), tag_of(hash)};
  }
  entries_[place.entry - 1].id = id;
  set_id(id, place.entry - 1);
}

std::optional<uint32_t> Vocabulary::find(std::string_view token) const {
  const uint32_t entry = slots_[slot(token, hash_text(token))].entry;
  if (entry == 0) return std::nullopt;
  return entries_[entry - 1].id;
}

std::optional<std::string_view> Vocabulary::token(uint32_t id) const {
  if (id >= kDense) {
    const auto found = sparse_.find(id);
    if (found == sparse_.end()) return std::nullopt;
    return text(entries_[found->second]);
  }
  if (id >= dense_.size() || dense_[id] == 0) return std::nullopt;
  return text(entries_[dense_[id] - 1]);
}

}  // namespace glassformer
