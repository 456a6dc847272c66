#include "kernels/cpu/embedding_uses.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/parallel.h"
#include "glassformer/base/threads.h"
#include "kernels/access.h"

namespace glassformer::cpu {
namespace {

int64_t share(int64_t part, int64_t parts, int64_t count) { return part * count / parts; }

}  // namespace

EmbeddingUses::EmbeddingUses(const Tensor& ids, int64_t rows, int64_t ignored)
    : ids_(ids), places_(ids.count()), ignored_(ignored), id_(input<int64_t>(ids)) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max(), kWorthAThread = 4096;
  require<ShapeError>(places_ <= kMost && rows <= kMost,
                      "embedding's gradient: expected at most {} ids and rows, found {} and {}",
                      kMost, places_, rows);
  memory_ = empty({2 * places_ + rows}, {DType::kInt32, Device::kCpu});
  uses_ = output<Use>(memory_);
  ends_ = output<uint32_t>(memory_) + 2 * places_;
  const int64_t parts = std::clamp<int64_t>(places_ / kWorthAThread, 1, num_threads());
  std::vector<uint32_t> totals(static_cast<size_t>(parts));
  const auto for_parts = [&](auto&& f) {
    parallel_tasks(parts, [&](int64_t part) {
      f(share(part, parts, rows), share(part + 1, parts, rows), totals[static_cast<size_t>(part)]);
    });
  };
  for_parts([&](int64_t first, int64_t end, uint32_t& total) {
    std::fill(ends_ + first, ends_ + end, 0);
    for_places(first, end, [&](uint32_t, int64_t id) { ++ends_[id]; });
    for (int64_t id = first; id < end; ++id) total += ends_[id];
  });
  for (uint32_t& total : totals) {
    const uint32_t size = total;
    total = static_cast<uint32_t>(used_);
    used_ += size;
  }
  for_parts([&](int64_t first, int64_t end, uint32_t& next) {
    for (int64_t id = first; id < end; ++id) {
      const uint32_t size = ends_[id];
      ends_[id] = next;
      next += size;
    }
    for_places(first, end, [&](uint32_t place, int64_t id) {
      uses_[ends_[id]++] = {place, static_cast<uint32_t>(id)};
    });
  });
}

// f(place, id) for the places of some ids, in their order.
template <class F>
void EmbeddingUses::for_places(int64_t first_id, int64_t end_id, F&& f) const {
  constexpr int64_t kBlock = 1024;
  uint32_t own[kBlock];  // whose id is whose no branch foresees
  for (int64_t begin = 0; begin < places_; begin += kBlock) {
    size_t found = 0;
    for (int64_t i = begin; i < std::min(begin + kBlock, places_); ++i) {
      own[found] = static_cast<uint32_t>(i);
      found += static_cast<size_t>(id_[i] >= first_id) & static_cast<size_t>(id_[i] < end_id);
    }
    for (size_t i = 0; i < found; ++i)
      if (id_[own[i]] != ignored_) f(own[i], id_[own[i]]);
  }
}

bool EmbeddingUses::stands_somewhere(int64_t id) const {
  const uint32_t begin = id == 0 ? 0 : ends_[id - 1];
  return ends_[id] != begin;
}

// The first of the uses from number i on with which an id begins.
int64_t EmbeddingUses::border(int64_t i) const {
  const bool inside = i > 0 && i < used_ && uses_[i].id == uses_[i - 1].id;
  return inside ? static_cast<int64_t>(ends_[uses_[i].id]) : i;
}

std::span<const EmbeddingUses::Use> EmbeddingUses::part(int64_t part, int64_t parts) const {
  const int64_t begin = border(share(part, parts, used_));
  return {uses_ + begin, uses_ + border(share(part + 1, parts, used_))};
}

}  // namespace glassformer::cpu
