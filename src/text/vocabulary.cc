#include "text/vocabulary.h"

#include <algorithm>
#include <bit>

#include "text/hash.h"

namespace glassformer {
namespace {

// Ids below this are looked up in an array, which so stays small whatever a file says.
constexpr size_t kDense = size_t{1} << 22;

}  // namespace

Vocabulary::Vocabulary(size_t expected) {
  entries_.reserve(expected);
  bytes_.reserve(expected * 8);
  grow(std::bit_ceil(std::max<size_t>(16, expected * 2)));
}

size_t Vocabulary::slot(std::string_view token) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash_text(token) & mask;
  while (slots_[at] != 0 && text(entries_[slots_[at] - 1]) != token) at = (at + 1) & mask;
  return at;
}

void Vocabulary::grow(size_t slots) {
  slots_.assign(slots, 0);
  for (size_t i = 0; i < entries_.size(); ++i)
    slots_[slot(text(entries_[i]))] = static_cast<uint32_t>(i + 1);
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
  const size_t at = slot(token);
  if (slots_[at] == 0) {
    entries_.push_back({id, static_cast<uint32_t>(token.size()), bytes_.size()});
    bytes_ += token;
    slots_[at] = static_cast<uint32_t>(entries_.size());
  }
  entries_[slots_[at] - 1].id = id;
  set_id(id, slots_[at] - 1);
}

std::optional<uint32_t> Vocabulary::find(std::string_view token) const {
  const uint32_t entry = slots_[slot(token)];
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
