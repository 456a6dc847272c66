// The f32 register-tile product shared by the GEMM and by attention.
//
// Included once per Highway target, so the guard flips with it. Everything lives in
// glassformer::cpu::HWY_NAMESPACE and owns no memory. Fixed-size vectors only: build without the
// scalable targets (SVE, RVV).
//
// Reproducibility: every element of C is one chain of fused multiply-adds over k in ascending order
// that starts from zero, and is added to the old C once, at the end. Its bits depend on its row of
// A, its column of B and the target, never on m, n or where a tile begins.

#if defined(GLASSFORMER_KERNELS_CPU_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_TILE_INL_H_
#undef GLASSFORMER_KERNELS_CPU_TILE_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_TILE_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#include "kernels/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Rows and columns of the register tile. The accumulators (kMr × kNr/kLanes vectors), one row of B
// and one broadcast of A must fit the register file: 32 vectors on AVX-512 and Arm, else 16.
constexpr size_t kLanes = HWY_LANES(float);
#if HWY_TARGET == HWY_SCALAR
constexpr size_t kVectors = 4;
constexpr size_t kMr = 2;
#elif HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr size_t kVectors = 2;
constexpr size_t kMr = 12;
#else
constexpr size_t kVectors = 2;
constexpr size_t kMr = 6;
#endif
constexpr size_t kNr = kVectors * kLanes;

// Floats that PackPanels writes for a K×N matrix.
constexpr size_t PackedFloats(size_t k, size_t n) { return (n + kNr - 1) / kNr * kNr * k; }

// Rows are cut into the fewest strips of at most kMr rows, as even as can be: 13 rows as 7 + 6, for
// a strip of one row would spend the time of four. Strip s begins at StripBegin(s, m).
constexpr size_t StripCount(size_t m) { return (m + kMr - 1) / kMr; }
constexpr size_t StripBegin(size_t s, size_t m) { return s * m / StripCount(m); }

// Floats that PackStrips writes for an M×K matrix, what runs over the end included.
constexpr size_t PackedStripFloats(size_t m, size_t k) { return StripCount(m) * kMr * k + kLanes; }

// ------------------------------------------------------------------------------------ packing

namespace tile {

using DF = hn::ScalableTag<float>;
using DU = hn::ScalableTag<uint32_t>;
using VU = hn::Vec<DU>;

// bfloat16 travels as its raw bits: the upper half of the float.
HWY_INLINE float Widen(float x) { return x; }
HWY_INLINE float Widen(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float x;
  memcpy(&x, &wide, sizeof(x));
  return x;
}

HWY_INLINE hn::Vec<DF> LoadWide(const float* p) { return hn::LoadU(DF(), p); }
HWY_INLINE hn::Vec<DF> LoadWide(const uint16_t* p) {
  const hn::Rebind<uint16_t, DF> du16;
  return hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(DU(), hn::LoadU(du16, p))));
}

// One row of a panel from contiguous memory: `columns` of them, then zeros.
template <class T>
HWY_INLINE void PackRow(const T* HWY_RESTRICT src, size_t columns, float* HWY_RESTRICT dst) {
  if (columns >= kNr) {
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v)
      hn::StoreU(LoadWide(src + v * kLanes), DF(), dst + v * kLanes);
    return;
  }
  for (size_t j = 0; j < columns; ++j) dst[j] = Widen(src[j]);
  for (size_t j = columns; j < kNr; ++j) dst[j] = 0.0f;
}

#if HWY_TARGET != HWY_SCALAR

// Rows kPitch floats apart.
template <size_t kPitch>
HWY_INLINE void StoreRow(VU row, size_t p, const float*, float* HWY_RESTRICT dst) {
  hn::StoreU(hn::BitCast(DF(), row), DF(), dst + p * kPitch);
}
// 32-bit units of bfloat16 are rows 2p (low half) and 2p + 1.
template <size_t kPitch>
HWY_INLINE void StoreRow(VU row, size_t p, const uint16_t*, float* HWY_RESTRICT dst) {
  const auto odd = hn::And(row, hn::Set(DU(), 0xFFFF0000u));
  hn::StoreU(hn::BitCast(DF(), hn::ShiftLeft<16>(row)), DF(), dst + 2 * p * kPitch);
  hn::StoreU(hn::BitCast(DF(), odd), DF(), dst + (2 * p + 1) * kPitch);
}

// kLanes columns, column j contiguous at src + j·stride, as rows kPitch floats apart.
template <size_t kPitch, class T>
HWY_INLINE void TransposeBlock(const T* HWY_RESTRICT src, size_t stride, float* HWY_RESTRICT dst) {
  TransposeUnits(src, stride,
                 [&](size_t p, VU row) HWY_ATTR { StoreRow<kPitch>(row, p, src, dst); });
}

// kLanes columns, of which `columns` exist, from columns that are contiguous in memory: row p of
// dst is kPitch·p floats away. Ragged edges go through a zeroed block on the stack, so that no load
// leaves the matrix.
template <size_t kPitch, class T>
HWY_INLINE void PackColumns(const T* HWY_RESTRICT src, size_t stride, size_t k, size_t columns,
                            float* HWY_RESTRICT dst) {
  constexpr size_t kDepth = kLanes * sizeof(float) / sizeof(T);
  size_t p = 0;
  if (columns == kLanes)
    for (; p + kDepth <= k; p += kDepth) TransposeBlock<kPitch>(src + p, stride, dst + p * kPitch);
  for (; p < k; p += kDepth) {
    const size_t rows = HWY_MIN(kDepth, k - p);
    alignas(64) T block[kLanes * kDepth] = {};
    for (size_t j = 0; j < columns; ++j)
      memcpy(block + j * kDepth, src + j * stride + p, rows * sizeof(T));
    alignas(64) float out[kDepth * kLanes];
    TransposeBlock<kLanes>(block, kDepth, out);
    for (size_t r = 0; r < rows; ++r)
      hn::StoreU(hn::Load(DF(), out + r * kLanes), DF(), dst + (p + r) * kPitch);
  }
}

#endif  // HWY_SCALAR

}  // namespace tile

// Packs B, K×N with element (p, j) at src[p·row_stride + j·col_stride], into panels of kNr columns:
// dst[panel][p][kNr], the last panel padded with zeros; PackedFloats(k, n) floats in all.
// T is float, or uint16_t for the bits of bfloat16, which are widened. Fast where either stride
// is 1.
template <class T>
void PackPanels(const T* HWY_RESTRICT src, int64_t row_stride, int64_t col_stride, size_t k,
                size_t n, float* HWY_RESTRICT dst) {
  for (size_t j0 = 0; j0 < n; j0 += kNr, dst += k * kNr) {
    const T* panel = src + static_cast<int64_t>(j0) * col_stride;
    const size_t columns = HWY_MIN(kNr, n - j0);
    if (col_stride == 1) {
      for (size_t p = 0; p < k; ++p)
        tile::PackRow(panel + static_cast<int64_t>(p) * row_stride, columns, dst + p * kNr);
      continue;
    }
#if HWY_TARGET != HWY_SCALAR
    if (row_stride == 1) {
      for (size_t v = 0; v < kVectors; ++v) {
        const size_t begin = HWY_MIN(v * kLanes, columns);
        const size_t here = HWY_MIN(kLanes, columns - begin);
        tile::PackColumns<kNr>(panel + static_cast<int64_t>(begin) * col_stride,
                               static_cast<size_t>(col_stride), k, here, dst + v * kLanes);
      }
      continue;
    }
#endif
    for (size_t p = 0; p < k; ++p) {
      const T* row = panel + static_cast<int64_t>(p) * row_stride;
      for (size_t j = 0; j < kNr; ++j)
        dst[p * kNr + j] =
            j < columns ? tile::Widen(row[static_cast<int64_t>(j) * col_stride]) : 0.0f;
    }
  }
}

// Packs A, M×K with element (i, p) at src[i·row_stride + p·col_stride], into strips of at most kMr
// rows (StripBegin): dst[strip][p][kMr], in which the kernel walks with one pointer.
// T as for PackPanels; fast where either stride is 1. Writes PackedStripFloats(m, k) floats.
template <class T>
void PackStrips(const T* HWY_RESTRICT src, int64_t row_stride, int64_t col_stride, size_t m,
                size_t k, float* HWY_RESTRICT dst) {
  const size_t strips = StripCount(m);
  for (size_t s = 0; s < strips; ++s, dst += k * kMr) {
    const size_t begin = StripBegin(s, m);
    const size_t rows = StripBegin(s + 1, m) - begin;
    const T* strip = src + static_cast<int64_t>(begin) * row_stride;
#if HWY_TARGET != HWY_SCALAR
    // Whole vectors run over into the next row, whose own write comes later: rows ascend, and of
    // the vectors of a row the last one is written first.
    constexpr size_t kParts = (kMr + kLanes - 1) / kLanes;
    if (col_stride == 1 || row_stride == 1) {
      for (size_t part = kParts; part-- > 0;) {
        const size_t skip = part * kLanes;
        if (skip >= rows) continue;
        const size_t here = HWY_MIN(kLanes, m - begin - skip);  // rows that may be read
        const T* from = strip + static_cast<int64_t>(skip) * row_stride;
        if (col_stride == 1) {
          tile::PackColumns<kMr>(from, static_cast<size_t>(row_stride), k, here, dst + skip);
        } else if (here == kLanes) {
          for (size_t p = 0; p < k; ++p, from += col_stride)
            hn::StoreU(tile::LoadWide(from), tile::DF(), dst + p * kMr + skip);
        } else {
          for (size_t p = 0; p < k; ++p, from += col_stride)
            for (size_t i = 0; i < here; ++i) dst[p * kMr + skip + i] = tile::Widen(from[i]);
        }
      }
      continue;
    }
#endif
    for (size_t p = 0; p < k; ++p)
      for (size_t i = 0; i < rows; ++i)
        dst[p * kMr + i] = tile::Widen(
            strip[static_cast<int64_t>(i) * row_stride + static_cast<int64_t>(p) * col_stride]);
  }
}

// ------------------------------------------------------------------------------------ product

namespace tile {

constexpr size_t kAheadOfK = 4;

// C[kRows × columns] (+)= A · panel. A(i, p) is a[i·lda + p], or a[p·lda + i] when kTransposed.
// Of the panel's kPitch vectors the first kWide are taken, columns being at most that; C beyond
// them is neither read nor written. What is wanted next begins at `ahead`: four floats of it for
// each of k are brought to L2, a line at a time, since a burst would hold up the loads of the
// product.
template <size_t kRows, bool kTransposed, size_t kWide = kVectors, size_t kPitch = kWide>
HWY_NOINLINE void Kernel(size_t k, const float* HWY_RESTRICT a, size_t lda,
                         const float* HWY_RESTRICT panel, float* HWY_RESTRICT c, size_t ldc,
                         size_t columns, bool accumulate, const float* ahead = nullptr) {
  constexpr size_t kCols = kWide * kLanes, kStep = kPitch * kLanes;
  const DF d;
  hn::Vec<DF> sum[kRows][kWide];
  HWY_UNROLL(16)
  for (size_t i = 0; i < kRows; ++i) {
    HWY_UNROLL(4)
    for (size_t v = 0; v < kWide; ++v) sum[i][v] = hn::Zero(d);
  }
  const size_t a_step = kTransposed ? lda : 1;
  const auto multiply = [&](const float* HWY_RESTRICT a_p, const float* HWY_RESTRICT b_p) HWY_ATTR {
    hn::Vec<DF> b[kWide];
    HWY_UNROLL(4)
    for (size_t v = 0; v < kWide; ++v) b[v] = hn::LoadU(d, b_p + v * kLanes);
    HWY_UNROLL(16)
    for (size_t i = 0; i < kRows; ++i) {
      const auto x = hn::Set(d, a_p[kTransposed ? i : i * lda]);
      HWY_UNROLL(4)
      for (size_t v = 0; v < kWide; ++v) sum[i][v] = hn::MulAdd(x, b[v], sum[i][v]);
    }
  };
  // Four at a time: the loop's own instructions are a twelfth of all when a thread shares its core.
  size_t p = 0;
  for (; p + 4 <= k; p += 4, a += 4 * a_step, panel += 4 * kStep) {
    if (ahead != nullptr) __builtin_prefetch(ahead + kAheadOfK * p, /*read*/ 0, /*to L2*/ 2);
    HWY_UNROLL(4)
    for (size_t u = 0; u < 4; ++u) multiply(a + u * a_step, panel + u * kStep);
  }
  for (; p < k; ++p, a += a_step, panel += kStep) multiply(a, panel);
  if (columns >= kCols) {
    HWY_UNROLL(16)
    for (size_t i = 0; i < kRows; ++i) {
      HWY_UNROLL(4)
      for (size_t v = 0; v < kWide; ++v) {
        float* to = c + i * ldc + v * kLanes;
        if (accumulate) sum[i][v] = hn::Add(hn::LoadU(d, to), sum[i][v]);
        hn::StoreU(sum[i][v], d, to);
      }
    }
    return;
  }
  alignas(64) float spill[kRows * kCols];
  HWY_UNROLL(16)
  for (size_t i = 0; i < kRows; ++i) {
    HWY_UNROLL(4)
    for (size_t v = 0; v < kWide; ++v) hn::Store(sum[i][v], d, spill + i * kCols + v * kLanes);
  }
  for (size_t i = 0; i < kRows; ++i)
    for (size_t j = 0; j < columns; ++j)
      c[i * ldc + j] = accumulate ? c[i * ldc + j] + spill[i * kCols + j] : spill[i * kCols + j];
}

// Calls the kernel for 1 <= rows <= kRows.
template <bool kTransposed, size_t kRows = kMr, size_t kWide = kVectors, size_t kPitch = kWide,
          class... Args>
HWY_INLINE void KernelForRows(size_t rows, Args... args) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return KernelForRows<kTransposed, kRows - 1, kWide, kPitch>(rows, args...);
  }
  Kernel<kRows, kTransposed, kWide, kPitch>(args...);
}

}  // namespace tile

// C (+)= A · B for C[m × n] with pitch ldc, A[m × k] with pitch lda, and B as PackPanels leaves it.
// Writes nothing outside [m) × [n). k = 0 gives zeros (or leaves C when accumulating).
// Panels outside, strips of A inside: the panel stays in the L1 cache while A streams past it.
inline HWY_NOINLINE void TileProduct(size_t m, size_t n, size_t k, const float* HWY_RESTRICT a,
                                     size_t lda, const float* HWY_RESTRICT b_panels,
                                     float* HWY_RESTRICT c, size_t ldc, bool accumulate) {
  const size_t strips = StripCount(m);
  for (size_t j = 0; j < n; j += kNr, b_panels += k * kNr) {
    for (size_t s = 0, i = 0; s < strips; ++s) {
      const size_t end = StripBegin(s + 1, m);
      tile::KernelForRows<false>(end - i, k, a + i * lda, lda, b_panels, c + i * ldc + j, ldc,
                                 HWY_MIN(kNr, n - j), accumulate);
      i = end;
    }
  }
}

// C[m × n] (+)= A · B, or Aᵀ · B with A stored [k × m], for the first n = kWide vectors of a panel
// [k × kPitch vectors]; the rows of C are as far apart. A panel of four vectors takes a tenth fewer
// instructions a multiply-add than the kNr of PackPanels, which counts where another thread shares
// the core: then 78 % of the peak, not 72 %. done(rows of C, how many) is told of every strip while
// it is in the L1 cache.
struct TellNobody {
  HWY_INLINE void operator()(float* /*rows*/, size_t /*count*/) const {}
};
template <size_t kWide, size_t kPitch, bool kTransposed, class Done = TellNobody>
HWY_NOINLINE void PanelProduct(size_t m, size_t k, const float* HWY_RESTRICT a, size_t lda,
                               const float* HWY_RESTRICT panel, float* HWY_RESTRICT c,
                               bool accumulate, Done&& done = {}) {
  constexpr size_t kStep = kPitch * kLanes;
  constexpr size_t kRows = HWY_MIN(kMr, kMr * kVectors / kWide);
  const size_t strips = (m + kRows - 1) / kRows;
  for (size_t s = 0, i = 0; s < strips; ++s) {
    const size_t end = (s + 1) * m / strips;
    tile::KernelForRows<kTransposed, kRows, kWide, kPitch>(
        end - i, k, a + (kTransposed ? i : i * lda), lda, panel, c + i * kStep, kStep,
        kWide * kLanes, accumulate);
    done(c + i * kStep, end - i);
    i = end;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
