#include "kernels/cpu/embedding_uses.h"

#include <algorithm>
#include <bit>

#include "base/parallel.h"
#include "glassformer/base/threads.h"
#include "kernels/access.h"

namespace glassformer::cpu {
namespace {

// Ids of a block: many, for what is asked for ahead at its end another thread reads; and few enough
// for every thread to have several.
int shift_for(int64_t rows) {
  constexpr int64_t kLeast = 16, kBlocksOfAThread = 16;
  const int64_t wanted =
      std::clamp(rows / (kBlocksOfAThread * num_threads()), kLeast, EmbeddingUses::kMostRows);
  return std::bit_width(static_cast<uint64_t>(wanted)) - 1;
}

}  // namespace

EmbeddingUses::EmbeddingUses(const Tensor& ids, int64_t rows, int64_t ignored)
    : ids_(ids), rows_(rows), shift_(shift_for(rows)), id_(input<int64_t>(ids)) {
  blocks_ = (rows + (int64_t{1} << shift_) - 1) >> shift_;
  memory_ = empty({blocks_ + 1 + 2 * ids.count()}, ids.options());
  begin_ = output<int64_t>(memory_);
  by_block_ = begin_ + blocks_ + 1;
  by_id_ = by_block_ + ids.count();
  sort_by_block(ignored);
}

EmbeddingUses::Rows EmbeddingUses::rows(int64_t block) const {
  return {block << shift_, std::min((block + 1) << shift_, rows_)};
}

void EmbeddingUses::sort_by_block(int64_t ignored) {
  constexpr int64_t kWorthAThread = 4096;
  const int64_t count = ids_.count();
  const int64_t parts = std::clamp<int64_t>(count / kWorthAThread, 1, num_threads());
  // of[part][block]: how many places, and then where the next one goes.
  const Tensor counts = empty({parts, blocks_}, ids_.options());
  const auto of = [&](int64_t part) { return output<int64_t>(counts) + part * blocks_; };
  const auto for_part = [&](int64_t part, auto&& f) {
    int64_t* of_part = of(part);
    for (int64_t i = part * count / parts; i < (part + 1) * count / parts; ++i)
      if (id_[i] != ignored) f(i, of_part[id_[i] >> shift_]);
  };
  parallel_tasks(parts, [&](int64_t part) {
    std::fill_n(of(part), blocks_, 0);
    for_part(part, [](int64_t, int64_t& places) { ++places; });
  });
  int64_t next = 0;
  for (int64_t block = 0; block < blocks_; ++block) {
    begin_[block] = next;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t places = of(part)[block];
      of(part)[block] = next;
      next += places;
    }
  }
  begin_[blocks_] = next;
  parallel_tasks(parts, [&](int64_t part) {
    const int64_t offset = (int64_t{1} << shift_) - 1;
    for_part(part, [&, to = by_block_](int64_t i, int64_t& at) {
      to[at++] = i << kMostRowBits | (id_[i] & offset);
    });
  });
}

std::span<const int64_t> EmbeddingUses::sort(int64_t block,
                                             std::span<int64_t, kMostRows> ends) const {
  const Rows own = rows(block);
  const auto size = static_cast<size_t>(begin_[block + 1] - begin_[block]);
  const std::span<const int64_t> uses(by_block_ + begin_[block], size);
  int64_t* sorted = by_id_ + begin_[block];
  std::fill_n(ends.begin(), own.end - own.begin, 0);
  const auto end_of = [&](int64_t use) -> int64_t& {
    return ends[static_cast<size_t>(use & (kMostRows - 1))];
  };
  for (const int64_t use : uses) ++end_of(use);
  // Where they end, less how many there are, is where they begin; filling them in moves it back.
  int64_t next = 0;
  for (int64_t i = 0; i < own.end - own.begin; ++i) {
    const int64_t begin = next;
    next += ends[static_cast<size_t>(i)];
    ends[static_cast<size_t>(i)] = begin;
  }
  for (const int64_t use : uses) sorted[end_of(use)++] = use >> kMostRowBits;
  return {sorted, size};
}

}  // namespace glassformer::cpu
