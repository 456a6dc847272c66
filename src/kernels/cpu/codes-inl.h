// Codes of a quantised weight in vectors: 32-bit lanes are columns, their bytes four of k.
// Included once per Highway target, so the guard flips with it.

#if defined(GLASSFORMER_KERNELS_CPU_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_CODES_INL_H_
#undef GLASSFORMER_KERNELS_CPU_CODES_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_CODES_INL_H_
#endif

#include <cstring>
#include <type_traits>

#include <hwy/highway.h>

#include "kernels/cpu/code_layout.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {
namespace codes {

namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::CappedTag<float, kCodeColumns>;
using DI = hn::Rebind<int32_t, DF>;
using DU = hn::Rebind<uint32_t, DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
using VU = hn::Vec<DU>;
constexpr size_t kVector = HWY_LANES(float) < kCodeColumns ? HWY_LANES(float) : kCodeColumns;
constexpr size_t kVectorsOfPanel = kCodeColumns / kVector;

// Codes 8·pair .. 8·pair + 7 of the columns from v·kVector on: the first four and the last four.
struct Pair {
  VU first, second;
};
template <CodeFormat kFormat>
HWY_INLINE Pair LoadPair(const uint8_t* HWY_RESTRICT group, size_t pair, size_t v) {
  const DU d;
  const auto load = [&](size_t q) HWY_ATTR {
    return hn::LoadU(d, reinterpret_cast<const uint32_t*>(group) + q * kCodeColumns + v * kVector);
  };
  if constexpr (kFormat == CodeFormat::kChannel8 || kFormat == CodeFormat::kGroup8)
    return {load(2 * pair), load(2 * pair + 1)};
  const auto low = hn::Set(d, 0x0F0F0F0Fu);
  const VU both = load(pair);
  Pair codes{hn::And(both, low), hn::And(hn::ShiftRight<4>(both), low)};
  if constexpr (kFormat == CodeFormat::kSuper6) {
    const auto high = hn::Set(d, 0x30303030u);
    const VU four = load(4 + pair / 2);
    const VU two = pair % 2 == 0 ? hn::ShiftLeft<4>(four) : four;
    codes.first = hn::Or(codes.first, hn::And(two, high));
    codes.second = hn::Or(codes.second, hn::And(hn::ShiftRight<2>(two), high));
  }
  return codes;
}

// acc + Σ over the four bytes of a lane of w (unsigned) · x (signed).
HWY_INLINE VI Dot(VI acc, VU w, VU x) {
#if HWY_TARGET == HWY_AVX3_DL
  // Highway asks the processor for AVX-512 VNNI before it chooses this target, but does not tell
  // the compiler, which then refuses the intrinsic.
  asm("vpdpbusd %2, %1, %0" : "+v"(acc.raw) : "v"(w.raw), "v"(x.raw));
  return acc;
#elif HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  const hn::Repartition<int16_t, DI> d16;
  const hn::Repartition<uint16_t, DI> du16;
  const auto even_w = hn::BitCast(d16, hn::And(w, hn::Set(DU(), 0x00FF00FFu)));
  const auto odd_w = hn::BitCast(d16, hn::ShiftRight<8>(hn::BitCast(du16, w)));
  const auto even_x = hn::ShiftRight<8>(hn::ShiftLeft<8>(hn::BitCast(d16, x)));
  const auto odd_x = hn::ShiftRight<8>(hn::BitCast(d16, x));
  VI unused = hn::Zero(DI());  // on x86 pairs stay in their lane
  acc = hn::ReorderWidenMulAccumulate(DI(), even_w, even_x, acc, unused);
  return hn::ReorderWidenMulAccumulate(DI(), odd_w, odd_x, acc, unused);
#else
  const DI d;
  const auto byte = [&](VU v) HWY_ATTR { return hn::BitCast(d, hn::And(v, hn::Set(DU(), 255u))); };
  const VI sx = hn::BitCast(d, x);
  acc = hn::Add(acc, hn::Mul(byte(w), hn::ShiftRight<24>(hn::ShiftLeft<24>(sx))));
  acc =
      hn::Add(acc, hn::Mul(byte(hn::ShiftRight<8>(w)), hn::ShiftRight<24>(hn::ShiftLeft<16>(sx))));
  acc =
      hn::Add(acc, hn::Mul(byte(hn::ShiftRight<16>(w)), hn::ShiftRight<24>(hn::ShiftLeft<8>(sx))));
  return hn::Add(acc, hn::Mul(byte(hn::ShiftRight<24>(w)), hn::ShiftRight<24>(sx)));
#endif
}

HWY_INLINE VU FourCodes(const int8_t* codes) {
  uint32_t four;
  memcpy(&four, codes, sizeof four);
  return hn::Set(DU(), four);
}

// float16 and bytes as float32.
HWY_INLINE VF LoadHalf(const uint8_t* from) {
  const hn::Rebind<hwy::float16_t, DF> d16;
  return hn::PromoteTo(DF(), hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(from)));
}
HWY_INLINE VF LoadByte(const uint8_t* from) {
  const hn::Rebind<int8_t, DF> d8;
  return hn::ConvertTo(DF(),
                       hn::PromoteTo(DI(), hn::LoadU(d8, reinterpret_cast<const int8_t*>(from))));
}

// Steps of the codes of group g, of whose first or second 16 of k `half` says where that matters.
// One for kChannel8, whose steps are the whole column's.
template <CodeFormat kFormat>
HWY_INLINE VF LoadStep(const uint8_t* HWY_RESTRICT panel, size_t g, size_t half, size_t v) {
  constexpr CodeLayout kLayout = layout_of(kFormat);
  const uint8_t* scales = panel + kLayout.group(g) + kLayout.codes;
  if constexpr (kFormat == CodeFormat::kChannel8) return hn::Set(DF(), 1.0f);
  if constexpr (kFormat == CodeFormat::kGroup8 || kFormat == CodeFormat::kGroup4)
    return LoadHalf(scales + 2 * v * kVector);
  const VF unit = LoadHalf(panel + kLayout.unit(g) + 2 * v * kVector);
  const size_t second = kFormat == CodeFormat::kSuper6 ? half * kCodeColumns : 0;
  return hn::Mul(unit, LoadByte(scales + second + v * kVector));
}

// Of kSuper4 alone.
HWY_INLINE VF LoadBase(const uint8_t* HWY_RESTRICT panel, size_t g, size_t v) {
  constexpr CodeLayout kLayout = layout_of(CodeFormat::kSuper4);
  const uint8_t* scales = panel + kLayout.group(g) + kLayout.codes + kCodeColumns;
  const VF unit = LoadHalf(panel + kLayout.unit(g) + 2 * (kCodeColumns + v * kVector));
  return hn::Mul(unit, LoadByte(scales + v * kVector));
}

// Steps of whole columns, where they are.
template <CodeFormat kFormat>
HWY_INLINE VF LoadColumnStep(const uint8_t* HWY_RESTRICT panel, size_t v) {
  if constexpr (kFormat == CodeFormat::kChannel8)
    return hn::LoadU(DF(), reinterpret_cast<const float*>(panel) + v * kVector);
  else
    return hn::Set(DF(), 1.0f);
}

// The weights of group g in `vectors` vectors of columns from number `first` on: a row, `pitch`
// apart, for each of k.
template <CodeFormat kFormat>
HWY_INLINE void ExpandGroup(const uint8_t* HWY_RESTRICT panel, size_t g, size_t first,
                            size_t vectors, float* HWY_RESTRICT out, size_t pitch) {
  constexpr CodeLayout kLayout = layout_of(kFormat);
  const DI di;
  const DF df;
  const uint8_t* group = panel + kLayout.group(g);
  const auto offset = hn::Set(di, kLayout.offset);
  for (size_t v = first; v < first + vectors; ++v, out += kVector)
    for (size_t pair = 0; pair < 4; ++pair) {
      const VF step =
          hn::Mul(LoadStep<kFormat>(panel, g, pair / 2, v), LoadColumnStep<kFormat>(panel, v));
      const auto put = [&](VU code, size_t row) HWY_ATTR {
        const VI byte = hn::BitCast(di, hn::And(code, hn::Set(DU(), 255u)));
        VF weight = hn::Mul(step, hn::ConvertTo(df, hn::Sub(byte, offset)));
        if constexpr (kFormat == CodeFormat::kSuper4)
          weight = hn::Sub(weight, LoadBase(panel, g, v));
        hn::StoreU(weight, df, out + (8 * pair + row) * pitch);
      };
      const auto put_four = [&](VU four, size_t row) HWY_ATTR {
        put(four, row);
        put(hn::ShiftRight<8>(four), row + 1);
        put(hn::ShiftRight<16>(four), row + 2);
        put(hn::ShiftRight<24>(four), row + 3);
      };
      const Pair both = LoadPair<kFormat>(group, pair, v);
      put_four(both.first, 0);
      put_four(both.second, 4);
    }
}

// f(std::integral_constant<CodeFormat, format>).
template <class F>
HWY_INLINE void VisitFormat(CodeFormat format, F&& f) {
  switch (format) {
#define GLASSFORMER_FORMAT(name) \
  case CodeFormat::name: return f(std::integral_constant<CodeFormat, CodeFormat::name>());
    GLASSFORMER_FORMAT(kChannel8)
    GLASSFORMER_FORMAT(kGroup8)
    GLASSFORMER_FORMAT(kGroup4)
    GLASSFORMER_FORMAT(kSuper4)
    GLASSFORMER_FORMAT(kSuper6)
#undef GLASSFORMER_FORMAT
  }
}

}  // namespace codes
// f(row, r) for `rows` rows of A from `first` on, each in its own type.
template <class F>
HWY_INLINE void ForRowsOf(const MatrixRef& a, size_t first, size_t rows, F&& f) {
  for (size_t r = 0; r < rows; ++r) {
    const int64_t at = static_cast<int64_t>(first + r) * a.row_stride;
    if (a.type == Type::kF32)
      f(static_cast<const float*>(a.data) + at, r);
    else
      f(static_cast<const hwy::bfloat16_t*>(a.data) + at, r);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
