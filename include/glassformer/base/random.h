#pragma once

#include <array>
#include <cstdint>

namespace glassformer {

// Names one random field: element i of it is a pure function of (seed, stream, i), so what is drawn
// does not depend on threads, blocking or order.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t stream = 0;
};

// Philox4x32 with ten rounds (Salmon et al., 2011): block `counter` of the field, four words.
std::array<uint32_t, 4> philox(RandomKey key, uint64_t counter);

// Hands out a fresh key for every random tensor. Copy it to fork; save and restore the pair
// (seed, stream) to resume.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0) : key_{seed, 0} {}
  RandomKey next() {
    RandomKey key = key_;
    ++key_.stream;
    return key;
  }
  RandomKey state() const { return key_; }
  void set_state(RandomKey state) { key_ = state; }

 private:
  RandomKey key_;
};

}  // namespace glassformer
