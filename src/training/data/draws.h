#pragma once

#include <cstdint>

#include "base/philox.h"

namespace glassformer {

// Streams of a run's seed that no layer draws from: those count up from 0.
inline constexpr uint64_t kShuffleStreams = uint64_t{1} << 63;
inline constexpr uint64_t kExampleStreams = uint64_t{1} << 62;

// Random numbers in a row, of one example (or shuffle) of a field: a pure function of the field's
// key and the example's number, below 2^40.
class Draws {
 public:
  Draws(RandomKey key, int64_t example)
      : key_(key), counter_(static_cast<uint64_t>(example) << kBlockBits) {}

  uint64_t word() {
    const auto words = philox_block(key_, counter_++);
    return uint64_t{words[0]} << 32 | words[1];
  }
  // In [0, 1).
  double uniform() { return static_cast<double>(word() >> 11) * 0x1p-53; }
  // In [0, count). The product's high half favours no number by more than count / 2^64.
  int64_t below(int64_t count) {
    return static_cast<int64_t>(
        static_cast<unsigned __int128>(word()) * static_cast<unsigned __int128>(count) >> 64);
  }

 private:
  static constexpr int kBlockBits = 24;
  RandomKey key_;
  uint64_t counter_;
};

}  // namespace glassformer
