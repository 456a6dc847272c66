#include "kernels/cpu/reading_order.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/parallel.h"

namespace glassformer::cpu {
namespace {

struct Piece {
  std::weak_ptr<const void> weight;
  const std::byte* begin = nullptr;
  size_t bytes = 0;
};

// By where the piece before it begins. A weight that is gone leaves its place behind: harmless, but
// not to be kept for ever.
thread_local std::unordered_map<const void*, Piece> followers;
constexpr size_t kMostPieces = 1 << 14;
thread_local const void* last = nullptr;

}  // namespace

void begin_to_read(int worker, const std::shared_ptr<const void>& weight, const void* begin,
                   size_t bytes) {
  constexpr size_t kMostFetched = size_t{1} << 19;  // half of a second-level cache
  const auto* first = static_cast<const std::byte*>(begin);
  bytes = std::min(bytes, kMostFetched);
  if (followers.size() > kMostPieces) followers.clear();
  if (last != nullptr && last != begin) {
    Piece& after = followers[last];
    // Of other memory at the same address only the owner is another.
    if (after.begin != first || after.bytes != bytes || after.weight.expired())
      after = {weight, first, bytes};
  }
  last = begin;
  std::array<PieceAhead, kMostPiecesAhead> ahead;
  size_t count = 0;
  size_t left = kMostFetched;
  const size_t most = worker == 0 ? 1 : ahead.size();
  for (const void* before = begin; count < most && left > 0;) {
    const auto next = followers.find(before);
    if (next == followers.end() || next->second.begin == begin) break;
    std::shared_ptr<const void> owner = next->second.weight.lock();
    if (owner == nullptr) break;
    const size_t taken = std::min(next->second.bytes, left);
    ahead[count++] = {{std::move(owner), next->second.begin}, taken};
    left -= taken;
    before = next->second.begin;
  }
  if (count > 0) fetch_while_waiting(std::span(ahead).first(count));
}

}  // namespace glassformer::cpu
