// The words of a random field, a vector at a time; the same as base/philox.h gives.
//
// Included once per Highway target, so the guard flips with it.

#if defined(GLASSFORMER_KERNELS_CPU_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_PHILOX_INL_H_
#undef GLASSFORMER_KERNELS_CPU_PHILOX_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_PHILOX_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "base/philox.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// One field, made once a kernel.
class PhiloxField {
 public:
  using D32 = hn::ScalableTag<uint32_t>;
  struct Words {
    hn::Vec<D32> first, second;
  };
  // Elements that one call gives.
  static constexpr size_t kStep = 2 * HWY_LANES(uint32_t);

  explicit PhiloxField(RandomKey key) : key_(key) {
    for (uint32_t round = 0; round < kRounds; ++round) {
      key0_[round] = static_cast<uint32_t>(key.seed) + round * 0x9E3779B9u;
      key1_[round] = static_cast<uint32_t>(key.seed >> 32) + round * 0xBB67AE85u;
    }
  }

#if HWY_TARGET != HWY_SCALAR
  // Words index .. index + kStep - 1, in order; index is a multiple of 4 (or of kStep, if less).
  // A block's four words are in four 64-bit lanes of as many vectors, so that the 32 × 32 → 64 bit
  // products need no shuffling; what they leave in the upper halves is never looked at. The
  // blocks are dealt to the lanes in the order in which interleaving puts them back in line.
  HWY_INLINE Words At(uint64_t index) const {
    const hn::ScalableTag<uint64_t> d;
    const D32 d32;
    constexpr size_t kLanes64 = HWY_LANES(uint64_t);
    HWY_ALIGN uint64_t order[kLanes64];
    for (size_t lane = 0; lane < kLanes64; ++lane)
      order[lane] = lane % 2 * (kLanes64 / 2) + lane / 2;
    auto c0 = hn::Add(hn::Set(d, index / 4), hn::Load(d, order));
    auto c1 = hn::ShiftRight<32>(c0);
    auto c2 = hn::Set(d, key_.stream);
    auto c3 = hn::Set(d, key_.stream >> 32);
    const auto multiply0 = hn::Set(d32, 0xD2511F53u), multiply1 = hn::Set(d32, 0xCD9E8D57u);
    for (size_t round = 0; round < kRounds; ++round) {
      const auto p0 = hn::MulEven(hn::BitCast(d32, c0), multiply0);
      const auto p1 = hn::MulEven(hn::BitCast(d32, c2), multiply1);
      const auto high0 = hn::BitCast(d, hn::DupOdd(hn::BitCast(d32, p0)));
      const auto high1 = hn::BitCast(d, hn::DupOdd(hn::BitCast(d32, p1)));
      c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, key0_[round]));
      c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, key1_[round]));
      c1 = p1;
      c3 = p0;
    }
    const auto low = hn::Set(d, 0xFFFFFFFFu);
    const auto words01 = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1));
    const auto words23 = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
    return {hn::BitCast(d32, hn::InterleaveLower(d, words01, words23)),
            hn::BitCast(d32, hn::InterleaveUpper(d, words01, words23))};
  }
#else
  HWY_INLINE Words At(uint64_t index) const {
    return {hn::Set(D32(), philox_word(key_, index)), hn::Set(D32(), philox_word(key_, index + 1))};
  }
#endif

  // Words first .. first + count - 1 into `out`, for any first.
  HWY_INLINE void Fill(uint64_t first, size_t count, uint32_t* HWY_RESTRICT out) const {
    const D32 d;
    HWY_ALIGN uint32_t block[kStep];
    while (count > 0) {
      const size_t skip = first % std::min<size_t>(4, kStep);
      const Words words = At(first - skip);
      hn::Store(words.first, d, block);
      hn::Store(words.second, d, block + HWY_LANES(uint32_t));
      const size_t here = std::min(count, kStep - skip);
      std::copy(block + skip, block + skip + here, out);
      out += here;
      first += here;
      count -= here;
    }
  }

 private:
  static constexpr size_t kRounds = 10;
  RandomKey key_;
  uint64_t key0_[kRounds], key1_[kRounds];
};

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
