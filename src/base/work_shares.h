#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

namespace glassformer {

// Work that lies in a row, in one contiguous share a worker. A worker takes its own share piece by
// piece, each a quarter of what is left of it, and may then go on with another's: cores are not
// equally fast, and where other programs share them not equally for long. What is computed must
// not depend on who takes which piece.
class WorkShares {
 public:
  static constexpr int kMost = 1024;
  static constexpr int64_t kNoUnit = std::numeric_limits<int64_t>::max();

  struct Piece {
    int64_t begin, end;
    bool empty() const { return begin >= end; }
  };

  // Before anyone takes from it. No piece crosses a multiple of `unit` after `begin`.
  void set(int share, int64_t begin, int64_t end, int64_t unit = kNoUnit) {
    shares_[share] = {begin, begin, end, unit};
  }

  // The next piece of a share: empty where nothing is left, else at least `least` long unless the
  // share or a unit ends before.
  Piece take(int share, int64_t least) {
    Share& from = shares_[share];
    const std::atomic_ref<int64_t> next(from.next);
    int64_t at = next.load(std::memory_order_relaxed);
    for (;;) {
      if (at >= from.end) return {from.end, from.end};
      const int64_t left = from.end - at;
      const int64_t to_unit = from.unit - (at - from.begin) % from.unit;
      const int64_t size = std::min({left, to_unit, std::max(least, (left + 3) / 4)});
      if (next.compare_exchange_weak(at, at + size, std::memory_order_relaxed))
        return {at, at + size};
    }
  }

 private:
  struct alignas(64) Share {  // a line of the cache each
    int64_t next, begin, end, unit;
  };
  Share shares_[kMost];  // as many as were set
};

}  // namespace glassformer
