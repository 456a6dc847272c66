#include "decoding/select.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "kernels/host_log_softmax.h"

namespace glassformer {
namespace {

// Most blocks of a vocabulary have nothing to offer, and are passed over at the speed of row_max.
constexpr size_t kBlock = 1024;

bool better(const Candidate& a, const Candidate& b) {
  return std::tuple(-a.score, a.row, a.token) < std::tuple(-b.score, b.row, b.token);
}

}  // namespace

void TopCandidates::start(size_t k) {
  k_ = k;
  heap_.clear();
  heap_.reserve(k);
}

void TopCandidates::add(std::span<const float> row, int32_t index, float offset) {
  // Rows and tokens come in order, so an equal score is never better than what is there.
  float bar = heap_.size() < k_ || heap_.empty() ? -std::numeric_limits<float>::infinity()
                                                 : heap_.front().score;
  for (size_t from = 0; from < row.size(); from += kBlock) {
    const auto block = row.subspan(from, std::min(kBlock, row.size() - from));
    // Rounding keeps the order: where the largest is not above the bar, none is.
    if (!(row_max(block) + offset > bar)) continue;
    for (size_t i = 0; i < block.size(); ++i) {
      const float score = block[i] + offset;
      if (!(score > bar)) continue;
      if (heap_.size() == k_) {
        std::pop_heap(heap_.begin(), heap_.end(), better);
        heap_.pop_back();
      }
      heap_.push_back({score, index, static_cast<int32_t>(from + i)});
      std::push_heap(heap_.begin(), heap_.end(), better);
      if (heap_.size() == k_) bar = heap_.front().score;
    }
  }
}

std::span<const Candidate> TopCandidates::sorted() {
  std::sort_heap(heap_.begin(), heap_.end(), better);
  return heap_;
}

int32_t argmax(std::span<const float> row) {
  const float max = row_max(row);
  if (max == -std::numeric_limits<float>::infinity()) return -1;
  return static_cast<int32_t>(std::find(row.begin(), row.end(), max) - row.begin());
}

}  // namespace glassformer
