// Products with int8 activations. A thread owns panels of W and walks them group by group.
#include "kernels/cpu/quantised.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>

#include "base/cpu_info.h"
#include "base/parallel.h"
#include "kernels/cpu/amx_int8.h"
#include "kernels/cpu/panel_share.h"
#include "kernels/cpu/scratch.h"

// The dot product of bytes (VNNI) came with this target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantised.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/codes-inl.h"
#include "kernels/cpu/panel_output-inl.h"

#ifndef GLASSFORMER_KERNELS_CPU_QUANTISED_ONCE
#define GLASSFORMER_KERNELS_CPU_QUANTISED_ONCE

namespace glassformer::cpu {
namespace {

constexpr size_t kStrip = ActivationGroup::kRows;

// What one thread computes: panels [begin, end) of one part.
struct PanelWork {
  const CodePanels* weight;
  size_t begin, end;
  const void*
      x;  // ActivationGroups, strip by strip, each of weight->groups(); ActivationRows of one
  size_t rows;
  GemmOutput out;  // from the first column of the part
  bool tiles;      // on the tile unit
};

}  // namespace
}  // namespace glassformer::cpu

#endif  // GLASSFORMER_KERNELS_CPU_QUANTISED_ONCE

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {
namespace {

using codes::DF;
using codes::DI;
using codes::DU;
using codes::kVector;
using codes::kVectorsOfPanel;
using codes::VF;
using codes::VI;
using codes::VU;

// ------------------------------------------------------------------------------------ vectors

using codes::Dot;
using codes::FourCodes;

// sums[kRows][32] of rows `first`.. of a strip and one panel.
template <CodeFormat kFormat, size_t kRows, class Activations>
HWY_NOINLINE void RowsProduct(const uint8_t* HWY_RESTRICT panel, size_t groups,
                              const Activations* HWY_RESTRICT x, size_t first,
                              float* HWY_RESTRICT sums) {
  constexpr CodeLayout kLayout = layout_of(kFormat);
  // Steps that change after 16 of k end the integer sum there.
  constexpr size_t kParts = kFormat == CodeFormat::kSuper6 ? 2 : 1;
  const DI di;
  const DF df;
  VF acc[kRows][kVectorsOfPanel];
  for (size_t r = 0; r < kRows; ++r)
    for (size_t v = 0; v < kVectorsOfPanel; ++v) acc[r][v] = hn::Zero(df);
  for (size_t g = 0; g < groups; ++g) {
    const Activations& a = x[g];
    const uint8_t* group = panel + kLayout.group(g);
    prefetch_after(group, kLayout.codes + kLayout.scales, kPrefetchOfCodes);
    for (size_t part = 0; part < kParts; ++part) {
      VI dot[kRows][kVectorsOfPanel];
      HWY_UNROLL(4)
      for (size_t r = 0; r < kRows; ++r) {
        const int32_t sum =
            kParts == 2 ? a.sums[part][first + r] : a.sums[0][first + r] + a.sums[1][first + r];
        HWY_UNROLL(4)
        for (size_t v = 0; v < kVectorsOfPanel; ++v) dot[r][v] = hn::Set(di, -kLayout.offset * sum);
      }
      HWY_UNROLL(4)
      for (size_t pair = part * 4 / kParts; pair < (part + 1) * 4 / kParts; ++pair) {
        HWY_UNROLL(4)
        for (size_t v = 0; v < kVectorsOfPanel; ++v) {
          const codes::Pair w = codes::LoadPair<kFormat>(group, pair, v);
          HWY_UNROLL(4)
          for (size_t r = 0; r < kRows; ++r) {
            const int8_t* row = a.codes[first + r] + 8 * pair;
            dot[r][v] = Dot(dot[r][v], w.first, FourCodes(row));
            dot[r][v] = Dot(dot[r][v], w.second, FourCodes(row + 4));
          }
        }
      }
      HWY_UNROLL(4)
      for (size_t v = 0; v < kVectorsOfPanel; ++v) {
        const VF step = codes::LoadStep<kFormat>(panel, g, part, v);
        HWY_UNROLL(4)
        for (size_t r = 0; r < kRows; ++r)
          acc[r][v] = hn::MulAdd(hn::ConvertTo(df, dot[r][v]),
                                 hn::Mul(step, hn::Set(df, a.scales[first + r])), acc[r][v]);
      }
    }
    if constexpr (kFormat == CodeFormat::kSuper4) {
      HWY_UNROLL(4)
      for (size_t v = 0; v < kVectorsOfPanel; ++v) {
        const VF base = codes::LoadBase(panel, g, v);
        HWY_UNROLL(4)
        for (size_t r = 0; r < kRows; ++r)
          acc[r][v] = hn::NegMulAdd(base, hn::Set(df, a.total[first + r]), acc[r][v]);
      }
    }
  }
  for (size_t r = 0; r < kRows; ++r)
    for (size_t v = 0; v < kVectorsOfPanel; ++v)
      hn::StoreU(acc[r][v], df, sums + r * kCodeColumns + v * kVector);
}

template <CodeFormat kFormat>
void StripProduct(const uint8_t* panel, size_t groups, const ActivationGroup* x, size_t rows,
                  float* sums) {
  size_t r = 0;
  for (; r + 4 <= rows; r += 4)
    RowsProduct<kFormat, 4>(panel, groups, x, r, sums + r * kCodeColumns);
  float* rest = sums + r * kCodeColumns;
  if (rows - r == 3) RowsProduct<kFormat, 3>(panel, groups, x, r, rest);
  if (rows - r == 2) RowsProduct<kFormat, 2>(panel, groups, x, r, rest);
  if (rows - r == 1) RowsProduct<kFormat, 1>(panel, groups, x, r, rest);
}

// ------------------------------------------------------------------------------------ tile unit

// The four bytes of each lane less kOffset. They have no top bit unless the offset is 128, so that
// a bit set there keeps the subtraction of one byte from reaching into the next.
template <int kOffset>
HWY_INLINE VU WithoutOffset(VU codes) {
  const VU top = hn::Set(DU(), 0x80808080u);
  if constexpr (kOffset == 128) return hn::Xor(codes, top);
  const VU offset = hn::Set(DU(), static_cast<uint32_t>(kOffset) * 0x01010101u);
  return hn::Xor(hn::Sub(hn::Or(codes, top), offset), top);
}

// A panel as the tile unit wants it, in memory of the thread's.
template <CodeFormat kFormat>
SignedPanel SignCodes(const uint8_t* panel, size_t groups) {
  constexpr CodeLayout kLayout = layout_of(kFormat);
  constexpr size_t kCodes = kCodeColumns * kCodeDepth;
  constexpr bool kBases = kFormat == CodeFormat::kSuper4;
  const size_t bytes = groups * (kCodes + kCodeColumns * sizeof(float) * 2);
  auto* signed_codes = thread_scratch<int8_t>(Scratch::kQuantisedPanel, bytes);
  auto* steps = reinterpret_cast<float*>(signed_codes + groups * kCodes);
  float* bases = steps + groups * kCodeColumns;
  for (size_t g = 0; g < groups; ++g) {
    auto* to = reinterpret_cast<uint32_t*>(signed_codes + g * kCodes);
    const auto put = [&](VU code, size_t q, size_t v) HWY_ATTR {
      hn::StoreU(WithoutOffset<kLayout.offset>(code), DU(), to + q * kCodeColumns + v * kVector);
    };
    for (size_t v = 0; v < kVectorsOfPanel; ++v) {
      for (size_t pair = 0; pair < 4; ++pair) {
        const codes::Pair w = codes::LoadPair<kFormat>(panel + kLayout.group(g), pair, v);
        put(w.first, 2 * pair, v);
        put(w.second, 2 * pair + 1, v);
      }
      const size_t at = g * kCodeColumns + v * kVector;
      hn::StoreU(codes::LoadStep<kFormat>(panel, g, 0, v), DF(), steps + at);
      if constexpr (kBases) hn::StoreU(codes::LoadBase(panel, g, v), DF(), bases + at);
    }
  }
  return {signed_codes, steps, kBases ? bases : nullptr};
}

// ------------------------------------------------------------------------------------ driver

// Rows [first, end) of one panel on the tile unit. Blocks of k, so that a block of the panel and
// the strip that meets it both lie in the L1 cache; the sums wait in L2.
template <CodeFormat kFormat, class T>
void RunPanelOnTiles(const PanelWork& work, const ActivationGroup* strips, const uint8_t* panel,
                     size_t first, size_t end, size_t j) {
  constexpr size_t kBlock = 16, kSums = kStrip * kCodeColumns;
  const size_t groups = work.weight->groups();
  const SignedPanel codes = SignCodes<kFormat>(panel, groups);
  auto* sums = thread_scratch<float>(Scratch::kQuantisedSums, (end - first) * kCodeColumns + kSums);
  for (size_t g = 0; g < groups; g += kBlock)
    for (size_t row = first; row < end; row += kStrip)
      amx_int8_strip(strips + row / kStrip * groups + g, std::min(kBlock, groups - g),
                     codes.from_group(g), sums + (row - first) * kCodeColumns, g != 0);
  for (size_t row = first; row < end; row += kStrip)
    FinishPanel<T>(work.out, work.weight->n, row, std::min(kStrip, end - row), j,
                   sums + (row - first) * kCodeColumns);
}

template <CodeFormat kFormat, class T>
void RunPanels(const PanelWork& work) {
  constexpr size_t kActivationBytes = size_t{1} << 20;  // half of an L2 cache
  const size_t groups = work.weight->groups();
  const size_t strip_bytes = groups * sizeof(ActivationGroup);
  const size_t block =
      std::max<size_t>(kActivationBytes / std::max<size_t>(strip_bytes, 1), 1) * kStrip;
  if (work.rows == 1) {
    const auto* x = static_cast<const ActivationRow*>(work.x);
    return RunOneRow<T>(*work.weight, work.begin, work.end, work.out,
                        [&](const uint8_t* panel, float* sums)
                            HWY_ATTR { RowsProduct<kFormat, 1>(panel, groups, x, 0, sums); });
  }
  HWY_ALIGN float sums[kStrip * kCodeColumns];
  const auto* strips = static_cast<const ActivationGroup*>(work.x);
  for (size_t first = 0; first < work.rows; first += block)
    for (size_t p = work.begin; p < work.end; ++p) {
      const uint8_t* panel = work.weight->panel(p);
      const size_t end = std::min(work.rows, first + block), j = p * kCodeColumns;
      if (work.tiles) {
        RunPanelOnTiles<kFormat, T>(work, strips, panel, first, end, j);
        continue;
      }
      for (size_t row = first; row < end; row += kStrip) {
        const size_t rows = std::min(kStrip, end - row);
        StripProduct<kFormat>(panel, groups, strips + row / kStrip * groups, rows, sums);
        FinishPanel<T>(work.out, work.weight->n, row, rows, j, sums);
      }
    }
}

void MultiplyPanels(const PanelWork& work) {
  codes::VisitFormat(work.weight->format, [&](auto format) HWY_ATTR {
    if constexpr (format == CodeFormat::kChannel8) return;  // channel_gemm multiplies it
    if (work.out.type == Type::kF32)
      RunPanels<format, float>(work);
    else
      RunPanels<format, hwy::bfloat16_t>(work);
  });
}

// ------------------------------------------------------------------------------------ activations

HWY_INLINE int32_t SumOf16(const int8_t* codes) {
#if HWY_TARGET == HWY_SCALAR
  return std::accumulate(codes, codes + 16, 0);
#else
  const hn::FixedTag<uint8_t, 16> d;
  HWY_ALIGN uint64_t sums[2];  // of bytes without a sign
  const auto bytes = hn::LoadU(d, reinterpret_cast<const uint8_t*>(codes));
  const hn::FixedTag<uint64_t, 2> d64;
  hn::Store(hn::SumsOf8(hn::Xor(bytes, hn::Set(d, 0x80))), d64, sums);
  return static_cast<int32_t>(sums[0] + sums[1]) - 16 * 0x80;
#endif
}

// Row `row` of a strip from k numbers.
template <class T, class Activations>
void QuantiseRow(const T* from, size_t k, size_t row, Activations* to) {
  constexpr size_t kVectors = kCodeDepth / kVector;
  constexpr int32_t kInfinity = 0x7F800000;
  const DF df;
  const DI di;
  const hn::Rebind<int8_t, DF> d8;
  const VI limit = hn::Set(di, 127);
  for (size_t first = 0; first < k; first += kCodeDepth, ++to) {
    VF x[kVectors];
    VI most = hn::Zero(di);  // the bits of positive numbers have their order, and NaN is at the end
    for (size_t v = 0; v < kVectors; ++v) {
      const size_t at = first + v * kVector;
      x[v] = at + kVector <= k ? LoadF32(df, from + at)
                               : LoadF32N(df, from + std::min(at, k), k - std::min(at, k));
      most = hn::Max(most, hn::BitCast(di, hn::Abs(x[v])));
    }
    const int32_t bits = hn::GetLane(hn::MaxOfLanes(di, most));
    const auto largest = std::bit_cast<float>(bits);
    // Groups with no finite scale give NaN, as the product in floating point would.
    const float scale =
        bits < kInfinity ? largest / 127.0f : std::numeric_limits<float>::quiet_NaN();
    const VF inverse = hn::Set(df, largest > 0.0f ? 127.0f / largest : 0.0f);
    for (size_t v = 0; v < kVectors; ++v) {
      const VI q = hn::Max(hn::Min(hn::NearestInt(hn::Mul(x[v], inverse)), limit), hn::Neg(limit));
      hn::StoreU(hn::DemoteTo(d8, q), d8, to->codes[row] + v * kVector);
    }
    const int32_t sums[2] = {SumOf16(to->codes[row]), SumOf16(to->codes[row] + 16)};
    to->sums[0][row] = sums[0];
    to->sums[1][row] = sums[1];
    to->scales[row] = scale;
    to->total[row] = scale * static_cast<float>(sums[0] + sums[1]);
  }
}

void QuantiseOneRow(const MatrixRef& a, size_t k, ActivationRow* to) {
  ForRowsOf(a, 0, 1, [&](const auto* x, size_t r) HWY_ATTR { QuantiseRow(x, k, r, to); });
}

void QuantiseStrip(const MatrixRef& a, size_t first, size_t rows, size_t k, bool fill,
                   ActivationGroup* to) {
  const size_t groups = (k + kCodeDepth - 1) / kCodeDepth;
  if (fill && rows < kStrip) std::fill_n(to, groups, ActivationGroup{});
  ForRowsOf(a, first, rows, [&](const auto* x, size_t r) HWY_ATTR { QuantiseRow(x, k, r, to); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glassformer::cpu {
namespace {

HWY_EXPORT(MultiplyPanels);
HWY_EXPORT(QuantiseOneRow);
HWY_EXPORT(QuantiseStrip);

bool on_tiles(int64_t m, std::span<const CodePanels* const> parts) {
  if (m < kRowsForTiles || !amx_int8_usable()) return false;
  return std::all_of(parts.begin(), parts.end(), [](const CodePanels* part) {
    return part->format != CodeFormat::kSuper6;  // whose steps change within a tile
  });
}

}  // namespace

void quantised_gemm(int64_t m, const MatrixRef& a, std::span<const CodePanels* const> parts,
                    const GemmOutput& out) {
  if (m == 0 || parts.empty()) return;
  const size_t k = parts.front()->k, groups = parts.front()->groups();
  const auto rows = static_cast<size_t>(m);
  const size_t strips = (rows + kStrip - 1) / kStrip;
  const bool tiles = on_tiles(m, parts);
  void* x = nullptr;
  if (rows == 1) {
    auto* row = thread_scratch<ActivationRow>(Scratch::kQuantisedRows, groups + 1);
    HWY_DYNAMIC_DISPATCH(QuantiseOneRow)(a, k, row);
    x = row;
  } else {
    auto* strip = thread_scratch<ActivationGroup>(Scratch::kQuantisedRows, strips * groups + 1);
    const auto quantise = HWY_DYNAMIC_DISPATCH(QuantiseStrip);
    parallel_ranges(static_cast<int64_t>(strips), static_cast<int64_t>(16384 / (k * kStrip) + 1),
                    [&](int64_t begin, int64_t end) {
                      for (auto s = static_cast<size_t>(begin); s < static_cast<size_t>(end); ++s)
                        quantise(a, s * kStrip, std::min(kStrip, rows - s * kStrip), k, tiles,
                                 strip + s * groups);
                    });
    x = strip;
  }
  const auto multiply = HWY_DYNAMIC_DISPATCH(MultiplyPanels);
  PanelShares shares(m, parts);
  parallel_workers(shares.workers(), [&](int worker, int) {
    std::optional<AmxInt8Scope> unit;
    if (tiles) unit.emplace(kCodeDepth);
    shares.for_panels(worker,
                      [&](const CodePanels* part, size_t begin, size_t end, int64_t column) {
                        multiply({part, begin, end, x, rows, out.from_column(column), tiles});
                      });
  });
}

}  // namespace glassformer::cpu
#endif
