#include "text/bpe_merges.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>

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
                      std::vector<uint64_t>& room) const {
  if (ids.size() <= kShort) {
    apply_short(ids, sizes, room);
  } else {
    apply_long(ids, sizes);
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

std::vector<BpeMerges::Joined> BpeMerges::joined(const std::vector<uint32_t>& ids, size_t first,
                                                 size_t last) const {
  constexpr uint32_t kNone = UINT32_MAX;
  struct Symbol {
    uint32_t id, previous, next;
    bool gone;
  };
  const auto count = static_cast<uint32_t>(last - first);
  std::vector<Symbol> symbols(count);
  for (uint32_t i = 0; i < count; ++i)
    symbols[i] = {ids[first + i], i > 0 ? i - 1 : kNone, i + 1 < count ? i + 1 : kNone, false};
  // The rank of a merge above, the place of its left symbol below.
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> queue;
  const auto merge_at = [&](const Symbol& left) -> const Merge* {
    return left.next == kNone ? nullptr : find(left.id, symbols[left.next].id);
  };
  const auto offer = [&](uint32_t at) {
    if (at == kNone) return;
    if (const Merge* merge = merge_at(symbols[at])) queue.push(uint64_t{merge->rank} << 32 | at);
  };
  for (uint32_t i = 0; i < count; ++i) offer(i);
  while (!queue.empty()) {
    const uint64_t top = queue.top();
    queue.pop();
    const auto at = static_cast<uint32_t>(top);
    Symbol& left = symbols[at];
    if (left.gone) continue;
    const Merge* merge = merge_at(left);
    if (!merge || merge->rank != top >> 32) continue;  // the pair has changed since
    Symbol& right = symbols[left.next];
    left.id = merge->result;
    left.next = right.next;
    right.gone = true;
    if (left.next != kNone) symbols[left.next].previous = at;
    offer(left.previous);
    offer(at);
  }
  std::vector<Joined> result;
  for (uint32_t at = 0; at != kNone; at = symbols[at].next)
    result.push_back({symbols[at].id, static_cast<uint32_t>(first) + at});
  return result;
}

// Why windows may be merged by themselves: a row of tokens is the result for its text if, and only
// if, each two neighbours of it are the result for theirs. For in the order of the merges, the
// first that crosses a border has the lowest rank of all pairs, so of those in the two tokens
// beside that border too, which until then were merged as they would be alone. So it is enough to
// merge anew what is near the border of two windows, until the tokens at both ends of that stay as
// they were.
bool BpeMerges::append(const std::vector<uint32_t>& ids, size_t last,
                       const std::vector<Joined>& more, std::vector<Joined>& done) const {
  for (size_t reach = 4; reach <= kFarthest; reach *= 2) {
    const size_t before = std::min(reach, done.size()), after = std::min(reach, more.size());
    const auto from = done.end() - static_cast<std::ptrdiff_t>(before);
    const size_t end = after < more.size() ? more[after].first : last;
    const std::vector<Joined> middle = joined(ids, from->first, end);
    const bool left_stays = before == done.size() || middle.front() == *from;
    const bool right_stays = end == ids.size() || middle.back() == more[after - 1];
    if (!left_stays || !right_stays) continue;
    done.erase(from, done.end());
    done.insert(done.end(), middle.begin(), middle.end());
    done.insert(done.end(), more.begin() + static_cast<std::ptrdiff_t>(after), more.end());
    return true;
  }
  return false;
}

void BpeMerges::apply_long(std::vector<uint32_t>& ids, std::vector<uint32_t>& sizes) const {
  const size_t count = ids.size();
  std::vector<Joined> done = joined(ids, 0, std::min(kWindow, count));
  for (size_t first = kWindow; first < count; first += kWindow) {
    const size_t last = std::min(first + kWindow, count);
    if (append(ids, last, joined(ids, first, last), done)) continue;
    done = joined(ids, 0, count);  // tokens that depend on what is far away: all at once
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
