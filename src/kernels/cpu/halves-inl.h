// Two vectors of numbers at a time, in the order that costs the fewest steps: of bfloat16 those at
// even places and those at odd ones, which are float32 once they are moved up or what is below them
// is cleared; of other types the first ones and those after them. For loops that do the same to
// every number.
//
// Included once per Highway target, so the guard flips with it.

#if defined(GLASSFORMER_KERNELS_CPU_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_HALVES_INL_H_
#undef GLASSFORMER_KERNELS_CPU_HALVES_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_HALVES_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct Halves {
  hn::Vec<D> a, b;
};

// 2 · Lanes(d) numbers; no pointer needs alignment.
template <class D, class T>
HWY_INLINE Halves<D> LoadHalves(D d, const T* HWY_RESTRICT p) {
  return {LoadF32(d, p), LoadF32(d, p + hn::Lanes(d))};
}

// Past the caches; p aligned to the bytes that are written, hwy::FlushStream() when done.
template <class D, class T>
HWY_INLINE void StreamHalves(Halves<D> v, D d, T* HWY_RESTRICT p) {
  StreamF32(v.a, v.b, d, p);
}

template <class D, class T>
HWY_INLINE void StoreHalves(Halves<D> v, D d, T* HWY_RESTRICT p) {
  StoreTwoF32(v.a, v.b, d, p);
}

#if HWY_TARGET != HWY_SCALAR

template <class D>
HWY_INLINE Halves<D> LoadHalves(D d, const hwy::bfloat16_t* HWY_RESTRICT p) {
  const hn::RebindToUnsigned<D> du;
  const hn::Repartition<uint16_t, D> d16;
  const auto pairs = hn::BitCast(du, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(p)));
  return {hn::BitCast(d, hn::ShiftLeft<16>(pairs)),
          hn::BitCast(d, hn::And(pairs, hn::Set(du, 0xFFFF0000U)))};
}

// The bits of the bfloat16 numbers in their own order.
template <class D>
HWY_INLINE hn::Vec<hn::Repartition<uint16_t, D>> BitsOfHalves(D d, Halves<D> v) {
  const hn::RebindToUnsigned<D> du;
  const hn::Repartition<uint16_t, D> d16;
#if GLASSFORMER_CONVERTS_BF16
  if constexpr (hn::MaxLanes(D()) * sizeof(float) == 64) {
    if (HWY_LIKELY(kHasBf16Conversion)) {
      HWY_ALIGN static constexpr uint16_t kPlaces[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                         21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                         11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
      const hwy::bfloat16_t* type = nullptr;
      const auto apart = HalfBitsOfTwo(d, v.a, v.b, type);
      return {_mm512_permutexvar_epi16(_mm512_load_si512(kPlaces), apart.raw)};
    }
  }
#endif
  const auto even = hn::ShiftRight<16>(RoundUpperHalf(d, v.a));
  const auto odd = hn::And(RoundUpperHalf(d, v.b), hn::Set(du, 0xFFFF0000U));
  return hn::BitCast(d16, hn::Or(even, odd));
}

template <class D>
HWY_INLINE void StreamHalves(Halves<D> v, D d, hwy::bfloat16_t* HWY_RESTRICT p) {
  const hn::Repartition<uint16_t, D> d16;
  hn::Stream(BitsOfHalves(d, v), d16, reinterpret_cast<uint16_t*>(p));
}

template <class D>
HWY_INLINE void StoreHalves(Halves<D> v, D d, hwy::bfloat16_t* HWY_RESTRICT p) {
  const hn::Repartition<uint16_t, D> d16;
  hn::StoreU(BitsOfHalves(d, v), d16, reinterpret_cast<uint16_t*>(p));
}

#endif

// The first `count`, or all; the others are zero, and nothing beyond them is touched.
template <class D, class T>
HWY_INLINE Halves<D> LoadSomeHalves(D d, const T* HWY_RESTRICT p, size_t count) {
  if (HWY_LIKELY(count >= 2 * hn::Lanes(d))) return LoadHalves(d, p);
  HWY_ALIGN T block[2 * hn::MaxLanes(D())] = {};
  memcpy(block, p, count * sizeof(T));
  return LoadHalves(d, block);
}

template <class D, class T>
HWY_INLINE void StoreSomeHalves(Halves<D> v, D d, T* HWY_RESTRICT p, size_t count) {
  if (HWY_LIKELY(count >= 2 * hn::Lanes(d))) return StoreHalves(v, d, p);
  HWY_ALIGN T block[2 * hn::MaxLanes(D())];
  StoreHalves(v, d, block);
  memcpy(p, block, count * sizeof(T));
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
