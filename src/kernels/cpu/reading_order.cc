#include "kernels/cpu/reading_order.h"

#include <algorithm>
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

void begin_to_read(const std::shared_ptr<const void>& weight, const void* begin, size_t bytes) {
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
  const auto next = followers.find(begin);
  if (next == followers.end()) return;
  if (std::shared_ptr<const void> owner = next->second.weight.lock())
    fetch_while_waiting({std::move(owner), next->second.begin}, next->second.bytes);
}

}  // namespace glassformer::cpu
