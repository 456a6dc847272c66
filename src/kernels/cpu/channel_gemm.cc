// A thread owns panels of W. Few rows go through vectors, straight from memory; many through tiles,
// a block of k of the panel in the L1 cache for all of them.
#include "kernels/cpu/channel_gemm.h"

#include <algorithm>
#include <optional>

#include "base/cpu_info.h"
#include "base/parallel.h"
#include "kernels/cpu/amx_int8.h"
#include "kernels/cpu/panel_share.h"
#include "kernels/cpu/scratch.h"

// The dot product of bytes (VNNI) came with this target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/channel_gemm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/codes-inl.h"
#include "kernels/cpu/panel_output-inl.h"

#ifndef GLASSFORMER_KERNELS_CPU_CHANNEL_GEMM_ONCE
#define GLASSFORMER_KERNELS_CPU_CHANNEL_GEMM_ONCE

namespace glassformer::cpu {
namespace {

constexpr CodeLayout kChannel = layout_of(CodeFormat::kChannel8);
constexpr int32_t kChannelOffset = kChannel.offset;

// What one thread computes: panels [begin, end) of one part.
struct ChannelWork {
  const CodePanels* weight;
  size_t begin, end;
  int8_t* x;  // strips
  size_t rows;
  GemmOutput out;  // from the first column of the part
  bool tiles;      // on the tile unit

  ActivationStrip strip(size_t row) const {
    return ActivationStrip::at(x, row / kStripRows, weight->k);
  }
};

}  // namespace
}  // namespace glassformer::cpu

#endif  // GLASSFORMER_KERNELS_CPU_CHANNEL_GEMM_ONCE

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {
namespace {

using codes::DF;
using codes::DI;
using codes::kVector;
using codes::kVectorsOfPanel;
using codes::VF;
using codes::VI;

HWY_INLINE VF ScaleSum(VI sum, float scale, VF step) {
  return hn::Mul(hn::ConvertTo(DF(), sum), hn::Mul(step, hn::Set(DF(), scale)));
}

// sums[kRows][32] of rows `first`.. of a strip and one panel.
template <size_t kRows>
HWY_NOINLINE void RowsProduct(const uint8_t* HWY_RESTRICT panel, size_t groups,
                              const ActivationStrip& x, size_t first, float* HWY_RESTRICT sums) {
  VI dot[kRows][kVectorsOfPanel];
  for (size_t r = 0; r < kRows; ++r)
    for (size_t v = 0; v < kVectorsOfPanel; ++v)
      dot[r][v] = hn::Set(DI(), -kChannelOffset * x.sums[first + r]);
  for (size_t g = 0; g < groups; ++g) {
    const uint8_t* group = panel + kChannel.group(g);
    // Two groups of k are a block of the strip.
    const int8_t* rows = x.codes + (g / 2 * kStripRows + first) * kBlockDepth + g % 2 * kCodeDepth;
    prefetch_after(group, kChannel.codes, kPrefetchOfBytes);
    HWY_UNROLL(4)
    for (size_t pair = 0; pair < 4; ++pair) {
      HWY_UNROLL(4)
      for (size_t v = 0; v < kVectorsOfPanel; ++v) {
        const codes::Pair w = codes::LoadPair<CodeFormat::kChannel8>(group, pair, v);
        HWY_UNROLL(4)
        for (size_t r = 0; r < kRows; ++r) {
          const int8_t* row = rows + r * kBlockDepth + 8 * pair;
          dot[r][v] = codes::Dot(dot[r][v], w.first, codes::FourCodes(row));
          dot[r][v] = codes::Dot(dot[r][v], w.second, codes::FourCodes(row + 4));
        }
      }
    }
  }
  for (size_t v = 0; v < kVectorsOfPanel; ++v) {
    const VF step = codes::LoadColumnStep<CodeFormat::kChannel8>(panel, v);
    for (size_t r = 0; r < kRows; ++r)
      hn::StoreU(ScaleSum(dot[r][v], x.scales[first + r], step), DF(),
                 sums + r * kCodeColumns + v * kVector);
  }
}

void StripProduct(const uint8_t* panel, size_t groups, const ActivationStrip& x, size_t rows,
                  float* sums) {
  size_t r = 0;
  for (; r + 4 <= rows; r += 4) RowsProduct<4>(panel, groups, x, r, sums + r * kCodeColumns);
  float* rest = sums + r * kCodeColumns;
  if (rows - r == 3) RowsProduct<3>(panel, groups, x, r, rest);
  if (rows - r == 2) RowsProduct<2>(panel, groups, x, r, rest);
  if (rows - r == 1) RowsProduct<1>(panel, groups, x, r, rest);
}

// Sums of integers, where the offset is still to be taken off, become the numbers they stand for.
void ScaleTileSums(const uint8_t* panel, const ActivationStrip& x, size_t rows,
                   const int32_t* HWY_RESTRICT dots, float* HWY_RESTRICT sums) {
  for (size_t v = 0; v < kVectorsOfPanel; ++v) {
    const VF step = codes::LoadColumnStep<CodeFormat::kChannel8>(panel, v);
    for (size_t r = 0; r < rows; ++r) {
      const size_t at = r * kCodeColumns + v * kVector;
      const VI offset = hn::Set(DI(), kChannelOffset * x.sums[r]);
      hn::StoreU(ScaleSum(hn::Sub(hn::LoadU(DI(), dots + at), offset), x.scales[r], step), DF(),
                 sums + at);
    }
  }
}

// Rows [first, end) of one panel on the tile unit. Blocks of k, so that what is read of the panel
// stays in the L1 cache; the sums wait in L2.
template <class T>
void RunPanelOnTiles(const ChannelWork& work, const uint8_t* panel, size_t first, size_t end,
                     size_t j) {
  constexpr size_t kBlocks = 16, kTwoStrips = 2 * kStripRows;
  const size_t k = work.weight->k, blocks = ActivationStrip::blocks(k);
  const size_t padded = (end - first + kTwoStrips - 1) / kTwoStrips * kTwoStrips;
  auto* dots = thread_scratch<int32_t>(Scratch::kQuantisedSums, padded * kCodeColumns);
  HWY_ALIGN float sums[kStripRows * kCodeColumns];
  for (size_t b = 0; b < blocks; b += kBlocks)
    for (size_t row = first; row < end; row += kTwoStrips) {
      const size_t skipped = b * kStripRows * kBlockDepth;
      const int8_t* second = row + kStripRows < end ? work.strip(row + kStripRows).codes : nullptr;
      amx_int8_product({.a = work.strip(row).codes + skipped,
                        .second_a = second != nullptr ? second + skipped : nullptr,
                        .b = panel + kChannel.header + b * kBlockDepth * kCodeColumns,
                        .blocks = std::min(kBlocks, blocks - b),
                        .accumulate = b != 0},
                       dots + (row - first) * kCodeColumns);
    }
  for (size_t row = first; row < end; row += kStripRows) {
    const size_t rows = std::min(kStripRows, end - row);
    ScaleTileSums(panel, work.strip(row), rows, dots + (row - first) * kCodeColumns, sums);
    FinishPanel<T>(work.out, work.weight->n, row, rows, j, sums);
  }
}

template <class T>
void RunPanels(const ChannelWork& work) {
  constexpr size_t kActivationBytes = size_t{1} << 20;  // half of an L2 cache
  const size_t groups = work.weight->groups();
  if (work.rows == 1)
    return RunOneRow<T>(*work.weight, work.begin, work.end, work.out,
                        [&](const uint8_t* panel, float* sums)
                            HWY_ATTR { RowsProduct<1>(panel, groups, work.strip(0), 0, sums); });
  const size_t pairs = kActivationBytes / (2 * ActivationStrip::bytes(work.weight->k));
  const size_t block = std::max<size_t>(pairs, 1) * 2 * kStripRows;
  HWY_ALIGN float sums[kStripRows * kCodeColumns];
  for (size_t first = 0; first < work.rows; first += block)
    for (size_t p = work.begin; p < work.end; ++p) {
      const uint8_t* panel = work.weight->panel(p);
      const size_t end = std::min(work.rows, first + block), j = p * kCodeColumns;
      if (work.tiles) {
        RunPanelOnTiles<T>(work, panel, first, end, j);
        continue;
      }
      for (size_t row = first; row < end; row += kStripRows) {
        const size_t rows = std::min(kStripRows, end - row);
        StripProduct(panel, groups, work.strip(row), rows, sums);
        FinishPanel<T>(work.out, work.weight->n, row, rows, j, sums);
      }
    }
}

void MultiplyChannelPanels(const ChannelWork& work) {
  if (work.out.type == Type::kF32)
    RunPanels<float>(work);
  else
    RunPanels<hwy::bfloat16_t>(work);
}

// ------------------------------------------------------------------------------------ activations

// Row `row` of a strip from k numbers.
template <class T>
void QuantiseWholeRow(const T* from, size_t k, size_t row, const ActivationStrip& to) {
  const DF df;
  const hn::Rebind<int8_t, DF> d8;
  const auto load = [&](size_t at) HWY_ATTR {
    return at + kVector <= k ? LoadF32(df, from + at) : LoadF32N(df, from + at, k - at);
  };
  VF most = hn::Zero(df), nan = hn::Zero(df);
  for (size_t at = 0; at < k; at += kVector) {
    const VF x = load(at);
    most = hn::Max(most, hn::Abs(x));
    nan = hn::MulAdd(x, hn::Zero(df), nan);  // NaN where one is, or an infinity
  }
  const float largest = hn::GetLane(hn::MaxOfLanes(df, most));
  const VF inverse = hn::Set(df, largest > 0.0f ? 127.0f / largest : 0.0f);
  const VI limit = hn::Set(DI(), 127);
  VI sum = hn::Zero(DI());
  for (size_t at = 0; at < ActivationStrip::blocks(k) * kBlockDepth; at += kVector) {
    const VF x = at < k ? load(at) : hn::Zero(df);
    const VI q = hn::Max(hn::Min(hn::NearestInt(hn::Mul(x, inverse)), limit), hn::Neg(limit));
    sum = hn::Add(sum, q);
    int8_t* codes =
        to.codes + (at / kBlockDepth * kStripRows + row) * kBlockDepth + at % kBlockDepth;
    hn::StoreU(hn::DemoteTo(d8, q), d8, codes);
  }
  to.sums[row] = hn::GetLane(hn::SumOfLanes(DI(), sum));
  // A row without a finite scale gives NaN, as the product in floating point would.
  to.scales[row] = largest / 127.0f + hn::GetLane(hn::SumOfLanes(df, nan));
}

// Strip number `index` of a matrix [m × k]; rows that are not there are zeros with `fill`.
void QuantiseWholeStrip(const MatrixRef& a, size_t m, size_t k, size_t index, bool fill,
                        int8_t* memory) {
  const ActivationStrip to = ActivationStrip::at(memory, index, k);
  const size_t first = index * kStripRows, rows = std::min(kStripRows, m - first);
  if (fill && rows < kStripRows) std::fill_n(to.codes, ActivationStrip::bytes(k), int8_t{0});
  ForRowsOf(a, first, rows,
            [&](const auto* x, size_t r) HWY_ATTR { QuantiseWholeRow(x, k, r, to); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glassformer::cpu {
namespace {

HWY_EXPORT(MultiplyChannelPanels);
HWY_EXPORT(QuantiseWholeStrip);

}  // namespace

void channel_gemm(int64_t m, const MatrixRef& a, std::span<const CodePanels* const> parts,
                  const GemmOutput& out) {
  if (m == 0 || parts.empty()) return;
  const size_t k = parts.front()->k;
  const auto rows = static_cast<size_t>(m);
  const size_t strips = (rows + kStripRows - 1) / kStripRows;
  const bool tiles = m >= kRowsForTiles && amx_int8_usable();
  auto* x = thread_scratch<int8_t>(Scratch::kQuantisedRows, strips * ActivationStrip::bytes(k));
  const auto quantise = HWY_DYNAMIC_DISPATCH(QuantiseWholeStrip);
  parallel_ranges(static_cast<int64_t>(strips), static_cast<int64_t>(65536 / (k * kStripRows) + 1),
                  [&](int64_t begin, int64_t end) {
                    for (auto s = static_cast<size_t>(begin); s < static_cast<size_t>(end); ++s)
                      quantise(a, rows, k, s, tiles, x);
                  });
  const auto multiply = HWY_DYNAMIC_DISPATCH(MultiplyChannelPanels);
  PanelShares shares(m, parts);
  parallel_workers(shares.workers(), [&](int worker, int) {
    std::optional<AmxInt8Scope> unit;
    if (tiles) unit.emplace(kBlockDepth);
    shares.for_panels(worker,
                      [&](const CodePanels* part, size_t begin, size_t end, int64_t column) {
                        multiply({part, begin, end, x, rows, out.from_column(column), tiles});
                      });
  });
}

}  // namespace glassformer::cpu
#endif
