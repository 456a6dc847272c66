#include "text/bpe_merges.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "text/hash.h"

namespace glassformer {
namespace {

// Up to this many symbols, looking for the best pair among all of them beats a queue.
constexpr size_t kShort = 48;
// A window's symbols and its queue stay in the second-level cache.
constexpr size_t kWindow = size_t{1} << 12;
// Symbols looked at on either side of a border between windows before they are given up.
constexpr size_t kFarthest = 512;

uint64_t pair_key(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

size_t slot_of(uint64_t pair) { return mix(pair, 0x9E3779B97F4A7C15); }

}  // namespace

BpeMerges::BpeMerges(size_t count) : merges_(std::bit_ceil(count * 2 + 1)) {}

void BpeMerges::add(uint32_t left, uint32_t right, uint32_t rank, uint32_t result) {
  const uint64_t pair = pair_key(left, right);
  const size_t mask = merges_.size() - 1;
  size_t at = slot_of(pair) & mask;
  while (merges_[at].pair != kNoPair && merges_[at].pair != pair) at = (at + 1) & mask;
  merges_[at] = {pair, rank, result};
}

const BpeMerges::Merge* BpeMerges::find(uint32_t left, uint32_t right) const {
  const uint64_t pair = pair_key(left, right);
  const size_t mask = merges_.size() - 1;
  size_t at = slot_of(pair) & mask;
  while (merges_[at].pair != pair) {
    if (merges_[at].pair == kNoPair) return nullptr;
    at = (at + 1) & mask;
  }
  return &merges_[at];
}

void BpeMerges::apply(std::vector<uint32_t>& ids, std::vector<uint32_t>& sizes,
                      Scratch& scratch) const {
  if (ids.size() <= kShort) {
    apply_short(ids, sizes, scratch.merges);
  } else {
    apply_long(ids, sizes, scratch);
  }
}

// `merges`: that of each symbol with the next, its rank above, its result below.
void BpeMerges::apply_short(std::vector<uint32_t>& ids, std::vector<uint32_t>& sizes,
                            std::vector<uint64_t>& merges) const {
  const auto merge_of = [&](size_t i) {
    const Merge* merge = i + 1 < ids.size() ? find(ids[i], ids[i + 1]) : nullptr;
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

void BpeMerges::join(const std::vector<uint32_t>& ids, size_t first, size_t last, Scratch& scratch,
                     std::vector<Joined>& result) const {
  constexpr uint32_t kNone = UINT32_MAX;
  const auto count = static_cast<uint32_t>(last - first);
  auto& symbols = scratch.symbols;
  symbols.resize(count);
  for (uint32_t i = 0; i < count; ++i)
    symbols[i] = {ids[first + i], i > 0 ? i - 1 : kNone, i + 1 < count ? i + 1 : kNone, false};
  // A heap, the smallest first: the rank of a merge above, the place of its left symbol below.
  auto& queue = scratch.merges;
  queue.clear();
  const auto merge_at = [&](uint32_t left) -> const Merge* {
    const uint32_t right = symbols[left].next;
    return right == kNone ? nullptr : find(symbols[left].id, symbols[right].id);
  };
  const auto offer = [&](uint32_t at) {
    const Merge* merge = at == kNone ? nullptr : merge_at(at);
    if (merge == nullptr) return;
    queue.push_back(uint64_t{merge->rank} << 32 | at);
    std::push_heap(queue.begin(), queue.end(), std::greater<>());
  };
  for (uint32_t i = 0; i < count; ++i) offer(i);
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    const uint64_t top = queue.back();
    queue.pop_back();
    const auto at = static_cast<uint32_t>(top);
    auto& left = symbols[at];
    if (left.gone) continue;
    const Merge* merge = merge_at(at);
    if (merge == nullptr || merge->rank != top >> 32) continue;  // the pair has changed since
    auto& right = symbols[left.next];
    left.id = merge->result;
    left.next = right.next;
    right.gone = true;
    if (left.next != kNone) symbols[left.next].previous = at;
    offer(left.previous);
    offer(at);
  }
  result.clear();
  for (uint32_t at = 0; at != kNone; at = symbols[at].next)
    result.push_back({symbols[at].id, static_cast<uint32_t>(first) + at});
}

// Why windows may be merged by themselves: a row of tokens is the result for its text if, and only
// if, each two neighbours of it are the result for theirs. For in the order of the merges, the
// first that crosses a border has the lowest rank of all pairs, so of those in the two tokens
// beside that border too, which until then were merged as they would be alone. So it is enough to
// merge anew what is near the border of two windows, until the tokens at both ends of that stay as
// they were.
bool BpeMerges::append(const std::vector<uint32_t>& ids, size_t last, Scratch& scratch) const {
  auto& [merges, symbols, done, window, middle] = scratch;
  for (size_t reach = 4; reach <= kFarthest; reach *= 2) {
    const size_t before = std::min(reach, done.size()), after = std::min(reach, window.size());
    const auto from = done.end() - static_cast<std::ptrdiff_t>(before);
    const size_t end = after < window.size() ? window[after].first : last;
    join(ids, from->first, end, scratch, middle);
    const bool left_stays = before == done.size() || middle.front() == *from;
    const bool right_stays = end == ids.size() || middle.back() == window[after - 1];
    if (!left_stays || !right_stays) continue;
    done.erase(from, done.end());
    done.insert(done.end(), middle.begin(), middle.end());
    done.insert(done.end(), window.begin() + static_cast<std::ptrdiff_t>(after), window.end());
    return true;
  }
  return false;
}

void BpeMerges::apply_long(std::vector<uint32_t>& ids, std::vector<uint32_t>& sizes,
                           Scratch& scratch) const {
  auto& done = scratch.done;
  const size_t count = ids.size();
  join(ids, 0, std::min(kWindow, count), scratch, done);
  for (size_t first = kWindow; first < count; first += kWindow) {
    const size_t last = std::min(first + kWindow, count);
    join(ids, first, last, scratch, scratch.window);
    if (append(ids, last, scratch)) continue;
    join(ids, 0, count, scratch, done);  // tokens that depend on what is far away: all at once
    break;
  }
  for (size_t i = 0; i < done.size(); ++i) {
    const size_t end = i + 1 < done.size() ? done[i + 1].first : count;
    uint32_t size = 0;
    for (size_t k = done[i].first; k < end; ++k) size += sizes[k];
    ids[i] = done[i].id;
    sizes[i] = size;  // never ahead of what is still to be read
  }
  ids.resize(done.size());
  sizes.resize(done.size());
}

}  // namespace glassformer
