// Transposition in registers, shared by packing and copying.
//
// Included once per Highway target, so the guard flips with it. Fixed-size vectors only.

#if defined(GLASSFORMER_KERNELS_CPU_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_TRANSPOSE_INL_H_
#undef GLASSFORMER_KERNELS_CPU_TRANSPOSE_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_TRANSPOSE_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

// Blocks b = 0.. of the result are the 16 bytes at p + (4b)·stride bytes.
HWY_INLINE hn::Vec<hn::ScalableTag<uint32_t>> GatherBlocks(const uint8_t* p, size_t stride) {
  const hn::FixedTag<uint32_t, 4> d4;
  const auto block = [&](size_t b) HWY_ATTR {
    return hn::LoadU(d4, reinterpret_cast<const uint32_t*>(p + 4 * b * stride));
  };
#if HWY_MAX_BYTES == 64
  const hn::FixedTag<uint32_t, 8> d8;
  const hn::ScalableTag<uint32_t> d;
  return hn::Combine(d, hn::Combine(d8, block(3), block(2)), hn::Combine(d8, block(1), block(0)));
#elif HWY_MAX_BYTES == 32
  return hn::Combine(hn::ScalableTag<uint32_t>(), block(1), block(0));
#else
  return block(0);
#endif
}

// Transposes Lanes columns of Lanes 32-bit units, column j contiguous at src + j·stride (elements
// of T): emit(p, vector of unit p of every column) for p in [0, Lanes). The first step is done by
// the loads (each brings 128-bit blocks of four columns together), and a whole cache line is
// consumed at once: with a stride of some pages all columns share one set of the L1 cache.
template <class T, class F>
HWY_INLINE void TransposeUnits(const T* HWY_RESTRICT src, size_t stride, F&& emit) {
  const hn::ScalableTag<uint32_t> d;
  const hn::RepartitionToWide<decltype(d)> d64;
  constexpr size_t kBlocks = HWY_LANES(uint32_t) / 4;
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(src);
  stride *= sizeof(T);
  hn::Vec<decltype(d)> v[4][kBlocks];
  HWY_UNROLL(4)
  for (size_t q = 0; q < 4; ++q) {
    HWY_UNROLL(4)
    for (size_t g = 0; g < kBlocks; ++g)
      v[q][g] = GatherBlocks(bytes + q * stride + 16 * g, stride);
  }
  HWY_UNROLL(4)
  for (size_t g = 0; g < kBlocks; ++g) {
    const auto lo01 = hn::BitCast(d64, hn::InterleaveLower(d, v[0][g], v[1][g]));
    const auto hi01 = hn::BitCast(d64, hn::InterleaveUpper(d, v[0][g], v[1][g]));
    const auto lo23 = hn::BitCast(d64, hn::InterleaveLower(d, v[2][g], v[3][g]));
    const auto hi23 = hn::BitCast(d64, hn::InterleaveUpper(d, v[2][g], v[3][g]));
    emit(4 * g, hn::BitCast(d, hn::InterleaveLower(d64, lo01, lo23)));
    emit(4 * g + 1, hn::BitCast(d, hn::InterleaveUpper(d64, lo01, lo23)));
    emit(4 * g + 2, hn::BitCast(d, hn::InterleaveLower(d64, hi01, hi23)));
    emit(4 * g + 3, hn::BitCast(d, hn::InterleaveUpper(d64, hi01, hi23)));
  }
}

#endif  // HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
