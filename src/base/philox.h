#pragma once

#include <array>
#include <cstdint>

#include "glassformer/base/random.h"

namespace glassformer {

// The body of philox(), for kernels to inline.
inline std::array<uint32_t, 4> philox_block(RandomKey key, uint64_t counter) {
  constexpr uint64_t kMultiply0 = 0xD2511F53, kMultiply1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  uint32_t c0 = static_cast<uint32_t>(counter), c1 = static_cast<uint32_t>(counter >> 32);
  uint32_t c2 = static_cast<uint32_t>(key.stream), c3 = static_cast<uint32_t>(key.stream >> 32);
  uint32_t k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = kMultiply0 * c0, p1 = kMultiply1 * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {c0, c1, c2, c3};
}

// Element i of a field: word i % 4 of block i / 4.
inline uint32_t philox_word(RandomKey key, uint64_t index) {
  return philox_block(key, index / 4)[index % 4];
}

// An element survives dropout with probability 1 - p when its word is at least this.
inline uint32_t dropout_threshold(double p) {
  const double scaled = p * 4294967296.0;
  return scaled >= 4294967295.0 ? 0xFFFFFFFFU : static_cast<uint32_t>(scaled);
}

// A word as a number in [0, 1), with the 24 bits that float32 holds exactly.
inline float uniform_from_word(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24F; }

}  // namespace glassformer
