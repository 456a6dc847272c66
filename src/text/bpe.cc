#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <queue>

#include "base/check.h"
#include "text/byte_alphabet.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

// Up to this many symbols, looking for the best pair among all of them beats a queue.
constexpr size_t kShort = 48;

uint64_t pair_key(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

}  // namespace

Bpe::Bpe(Vocabulary vocabulary,
         const std::vector<std::pair<std::string_view, std::string_view>>& merges,
         BpeOptions options, const std::string& where)
    : Model(std::move(vocabulary)), options_(std::move(options)) {
  if (options_.unknown) unknown_ = vocabulary_.find(*options_.unknown);
  for (unsigned byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary_.find(to_utf8(byte_to_character(static_cast<unsigned char>(byte))))
                          .value_or(kNoToken);
    fallback_ids_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte)).value_or(kNoToken);
  }
  if (options_.byte_level && options_.ignore_merges)
    vocabulary_.each([&](std::string_view token, uint32_t id) {
      if (const auto bytes = to_bytes(token)) bytes_.add(*bytes, id);
    });
  read_merges(merges, where);
}

void Bpe::read_merges(const std::vector<std::pair<std::string_view, std::string_view>>& merges,
                      const std::string& where) {
  merges_.assign(std::bit_ceil(merges.size() * 2 + 1), {});
  const auto id_of = [&](std::string_view token, size_t rank) {
    const auto id = vocabulary_.find(token);
    require<FileError>(id.has_value(), "{}: merge {} needs the token '{}', which is not there",
                       where, rank, token);
    return *id;
  };
  std::string joined;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    joined = left;
    require<FileError>(right.size() >= options_.prefix.size(),
                       "{}: merge {}: '{}' is shorter than the prefix '{}'", where, rank, right,
                       options_.prefix);
    joined.append(right.substr(options_.prefix.size()));
    add_merge({pair_key(id_of(left, rank), id_of(right, rank)), static_cast<uint32_t>(rank),
               id_of(joined, rank)});
  }
}

void Bpe::add_merge(const Merge& merge) {
  const size_t mask = merges_.size() - 1;
  size_t at = mix(merge.pair, 0x9E3779B97F4A7C15) & mask;
  while (merges_[at].pair != kNoPair && merges_[at].pair != merge.pair) at = (at + 1) & mask;
  merges_[at] = merge;  // of two, the later one counts
}

const Bpe::Merge* Bpe::find_merge(uint32_t left, uint32_t right) const {
  const uint64_t pair = pair_key(left, right);
  const size_t mask = merges_.size() - 1;
  size_t at = mix(pair, 0x9E3779B97F4A7C15) & mask;
  while (merges_[at].pair != pair) {
    if (merges_[at].pair == kNoPair) return nullptr;
    at = (at + 1) & mask;
  }
  return &merges_[at];
}

uint32_t Bpe::unknown_id() const {
  require<ValueError>(unknown_.has_value(), "BPE: the unknown token '{}' is not in the vocabulary",
                      *options_.unknown);
  return *unknown_;
}

bool Bpe::add_byte_tokens(std::string_view character, ModelScratch& scratch) const {
  for (const char byte : character)
    if (fallback_ids_[static_cast<unsigned char>(byte)] == kNoToken) return false;
  for (const char byte : character) {
    scratch.ids.push_back(fallback_ids_[static_cast<unsigned char>(byte)]);
    scratch.sizes.push_back(1);
  }
  return true;
}

void Bpe::start_with_bytes(std::string_view piece, ModelScratch& scratch) const {
  for (const char byte : piece) {
    uint32_t id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id == kNoToken) {
      if (!options_.unknown) continue;
      id = unknown_id();
      // An unknown byte is an unknown character: fused, it makes the one before it longer.
      if (options_.fuse_unknown && !scratch.ids.empty() && scratch.ids.back() == id) {
        ++scratch.sizes.back();
        continue;
      }
    }
    scratch.ids.push_back(id);
    scratch.sizes.push_back(1);
  }
}

void Bpe::start_with_characters(std::string_view piece, ModelScratch& scratch) const {
  uint32_t open_unknown = 0;  // bytes of unknown characters that are not written yet
  const auto flush = [&] {
    if (open_unknown == 0) return;
    scratch.ids.push_back(*unknown_);
    scratch.sizes.push_back(open_unknown);
    open_unknown = 0;
  };
  for (size_t at = 0; at < piece.size();) {
    const auto size = static_cast<uint32_t>(character_size(piece[at]));
    std::string_view symbol = piece.substr(at, size);
    const bool last = at + size == piece.size();
    if ((at > 0 && !options_.prefix.empty()) || (last && !options_.suffix.empty())) {
      scratch.text.clear();
      if (at > 0) scratch.text += options_.prefix;
      scratch.text += symbol;
      if (last) scratch.text += options_.suffix;
      symbol = scratch.text;
    }
    at += size;
    if (const auto id = vocabulary_.find(symbol)) {
      flush();
      scratch.ids.push_back(*id);
      scratch.sizes.push_back(size);
    } else if (options_.byte_fallback && add_byte_tokens(symbol, scratch)) {
      continue;
    } else if (options_.unknown) {
      unknown_id();
      if (!options_.fuse_unknown) flush();
      open_unknown += size;
    }
  }
  flush();
}

void Bpe::merge_short(ModelScratch& scratch) const {
  auto& ids = scratch.ids;
  auto& sizes = scratch.sizes;
  // The merge of each symbol with the next: its rank above, its result below.
  auto& merges = scratch.merges;
  const auto merge_of = [&](size_t i) {
    const Merge* merge = i + 1 < ids.size() ? find_merge(ids[i], ids[i + 1]) : nullptr;
    return merge ? uint64_t{merge->rank} << 32 | merge->result : UINT64_MAX;
  };
  merges.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) merges[i] = merge_of(i);
  for (;;) {
    const auto best = std::min_element(merges.begin(), merges.end(),
                                       [](uint64_t a, uint64_t b) { return a >> 32 < b >> 32; });
    if (best == merges.end() || *best == UINT64_MAX) return;
    const auto i = static_cast<size_t>(best - merges.begin());
    ids[i] = static_cast<uint32_t>(*best);
    sizes[i] += sizes[i + 1];
    const auto next = static_cast<std::ptrdiff_t>(i + 1);
    ids.erase(ids.begin() + next);
    sizes.erase(sizes.begin() + next);
    merges.erase(merges.begin() + next);
    merges[i] = merge_of(i);
    if (i > 0) merges[i - 1] = merge_of(i - 1);
  }
}

void Bpe::merge_long(ModelScratch& scratch) const {
  struct Symbol {
    uint32_t id, size;
    int64_t previous, next;
  };
  struct Candidate {
    uint32_t rank;
    uint32_t at;
    uint32_t result;
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  const auto count = static_cast<int64_t>(scratch.ids.size());
  std::vector<Symbol> symbols(scratch.ids.size());
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    symbols[at] = {scratch.ids[at], scratch.sizes[at], i - 1, i + 1 < count ? i + 1 : -1};
  }
  std::priority_queue<Candidate> queue;
  const auto offer = [&](int64_t left) {
    if (left < 0 || symbols[static_cast<size_t>(left)].next < 0) return;
    const Symbol& symbol = symbols[static_cast<size_t>(left)];
    const Merge* merge = find_merge(symbol.id, symbols[static_cast<size_t>(symbol.next)].id);
    if (merge) queue.push({merge->rank, static_cast<uint32_t>(left), merge->result});
  };
  for (int64_t i = 0; i < count; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol& left = symbols[top.at];
    if (left.size == 0 || left.next < 0) continue;
    Symbol& right = symbols[static_cast<size_t>(left.next)];
    const Merge* merge = find_merge(left.id, right.id);
    if (!merge || merge->result != top.result) continue;  // the pair has changed since
    left.id = top.result;
    left.size += right.size;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = top.at;
    offer(left.previous);
    offer(top.at);
  }
  scratch.ids.clear();
  scratch.sizes.clear();
  for (const Symbol& symbol : symbols) {
    if (symbol.size == 0) continue;
    scratch.ids.push_back(symbol.id);
    scratch.sizes.push_back(symbol.size);
  }
}

void Bpe::tokenize(std::string_view piece, ModelScratch& scratch,
                   std::vector<PieceToken>& tokens) const {
  if (options_.ignore_merges) {
    if (const auto id = (options_.byte_level ? bytes_ : vocabulary_).find(piece)) {
      tokens.push_back({*id, 0, static_cast<uint32_t>(piece.size())});
      return;
    }
  }
  size_t slot = 0;
  if (const auto known = scratch.cache.find(piece, slot); !known.empty()) {
    tokens.insert(tokens.end(), known.begin(), known.end());
    return;
  }
  scratch.ids.clear();
  scratch.sizes.clear();
  if (options_.byte_level) {
    start_with_bytes(piece, scratch);
  } else {
    start_with_characters(piece, scratch);
  }
  if (scratch.ids.size() <= kShort) {
    merge_short(scratch);
  } else {
    merge_long(scratch);
  }
  const size_t first = tokens.size();
  uint32_t at = 0;
  for (size_t i = 0; i < scratch.ids.size(); ++i) {
    tokens.push_back({scratch.ids[i], at, at + scratch.sizes[i]});
    at += scratch.sizes[i];
  }
  scratch.cache.insert(piece, slot, std::span(tokens).subspan(first));
}

}  // namespace glassformer
