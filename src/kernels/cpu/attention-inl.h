// What the attention kernels share: the two engines that multiply tiles, and the step from dot
// products to masked scores.
//
// Included once per Highway target, so the guard flips with it.

#if defined(GLASSFORMER_KERNELS_CPU_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_ATTENTION_INL_H_
#undef GLASSFORMER_KERNELS_CPU_ATTENTION_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <hwy/highway.h>

#include "kernels/access.h"
#include "kernels/attention.h"
#include "kernels/cpu/bf16_tile.h"
#include "kernels/cpu/exp-inl.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/philox-inl.h"
#include "kernels/cpu/row-inl.h"
#include "kernels/cpu/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// ------------------------------------------------------------------------------------ engines
// A tile of scores is held with its keys as rows and its queries in the lanes of vectors: what the
// softmax keeps of a query is then one lane, no maximum and no sum crosses lanes, and a tile is the
// packed panel [keys × kCols] that its next product reads. An engine multiplies with such panels;
// Element is what it multiplies, Source what tensors hold, and sums are float32.

// bfloat16 travels as its bits where it is packed.
HWY_INLINE const float* Bits(const float* p) { return p; }
HWY_INLINE const uint16_t* Bits(const hwy::bfloat16_t* p) {
  return reinterpret_cast<const uint16_t*>(p);
}
HWY_INLINE uint16_t* Bits(hwy::bfloat16_t* p) { return reinterpret_cast<uint16_t*>(p); }

// Rows of a tensor as rows of Element, `width` of each, pitch ld.
template <class Element, class Source>
HWY_INLINE void CopyRows(const Source* src, int64_t stride, int64_t rows, int64_t width,
                         Element* dst, size_t ld) {
  for (int64_t i = 0; i < rows; ++i)
    MapRow(src + i * stride, dst + static_cast<size_t>(i) * ld, width,
           [](auto v, size_t) HWY_ATTR { return v; });
}

// One vector of queries is enough for a few of them: then the keys and values, read where they lie,
// are what takes the time.
constexpr size_t kNarrow = 1;
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr size_t kWide = 4;
#else
constexpr size_t kWide = kVectors;
#endif

// f(the vectors of a panel that hold `queries`, as a constant): a panel's last queries need not
// take the time of all. One, two or all kPanelVectors of them.
template <size_t kPanelVectors, class F>
HWY_INLINE void VisitUsedVectors(size_t queries, F&& f) {
  if constexpr (kPanelVectors > 1) {
    if (queries <= kLanes) return f(std::integral_constant<size_t, 1>());
  }
  if constexpr (kPanelVectors > 2) {
    if (queries <= 2 * kLanes) return f(std::integral_constant<size_t, 2>());
  }
  f(std::integral_constant<size_t, kPanelVectors>());
}

template <size_t kPanelVectors>
struct Float32Panels {
  using Element = float;
  struct Scope {};  // nothing to hold
  static constexpr int64_t kCols = kPanelVectors * kLanes;

  static size_t PanelSize(size_t size) { return size * kCols; }
  template <class Source>
  static void PackQueries(const Source* q, int64_t stride, size_t rows, size_t size, float* panel) {
    for (size_t v = 0; v < kCols; v += kLanes) {
      const size_t begin = std::min(v, rows);
      const auto* from = Bits(q) + static_cast<int64_t>(begin) * stride;
#if HWY_TARGET == HWY_SCALAR
      for (size_t p = 0; p < size; ++p)
        panel[p * kCols + v] = begin < rows ? tile::Widen(from[p]) : 0.0F;
#else
      tile::PackColumns<kCols>(from, static_cast<size_t>(stride), size,
                               std::min(kLanes, rows - begin), panel + v);
#endif
    }
  }

  // S[keys × kCols] = K · panel, for its first queries.
  static void Scores(size_t keys, size_t queries, size_t size, const float* k, size_t ld,
                     const float* panel, float* s) {
    VisitUsedVectors<kPanelVectors>(queries, [&](auto used) HWY_ATTR {
      PanelProduct<used, kPanelVectors, false>(keys, size, k, ld, panel, s, /*accumulate=*/false);
    });
  }

  // The same, strip by strip (PanelProduct).
  static constexpr bool kTellsOfStrips = true;
  template <size_t kUsed, class Done>
  static void Scores(size_t keys, size_t size, const float* k, size_t ld, const float* panel,
                     float* s, Done&& done) {
    PanelProduct<kUsed, kPanelVectors, false>(keys, size, k, ld, panel, s, /*accumulate=*/false,
                                              done);
  }

  // Values are multiplied where they lie; copied only to become float.
  static constexpr bool kPacksValues = false;
  static size_t ValuesSize(size_t keys, size_t value_size) { return keys * value_size; }
  static size_t ValuesPitch(size_t /*keys*/, size_t value_size) { return value_size; }
  template <class Source>
  static void PackValues(const Source* v, int64_t stride, int64_t keys, int64_t value_size,
                         float* dst) {
    CopyRows(v, stride, keys, value_size, dst, static_cast<size_t>(value_size));
  }

  // C[value_size × kCols] += Vᵀ · W for weights [keys × kCols], for the first queries.
  static void AddValues(size_t value_size, size_t queries, size_t keys, const float* v, size_t ld,
                        const float* w, float* /*spare*/, float* c) {
    VisitUsedVectors<kPanelVectors>(queries, [&](auto used) HWY_ATTR {
      PanelProduct<used, kPanelVectors, true>(value_size, keys, v, ld, w, c, /*accumulate=*/true);
    });
  }

  // C[keys × n] += W · B for B[queries × n] as PackFactor leaves it. Panel p of W is zero from key
  // seen[p] on. W is one panel, as it is.
  static constexpr int64_t kFactorPanels = 1;
  static size_t FactorSize(size_t queries, size_t n) { return PackedFloats(queries, n); }
  template <class Source>
  static void PackFactor(const Source* b, int64_t stride, size_t queries, size_t n, float* dst) {
    PackPanels(Bits(b), stride, 1, queries, n, dst);
  }
  static const float* Factor(size_t /*keys*/, size_t /*panels*/, const float* w, float* /*spare*/) {
    return w;
  }
  static void AddFactor(size_t keys, size_t n, size_t queries, const size_t* /*seen*/,
                        const float* w, const float* b, float* c) {
    TileProduct(keys, n, queries, w, kCols, b, c, n, /*accumulate=*/true);
  }
};

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86

struct Bf16Panels {
  using Element = hwy::bfloat16_t;
  using Scope = Bf16Scope;
  static constexpr int64_t kCols = kBf16Cols;

  static size_t PanelSize(size_t size) { return bf16_packed_size(size, kCols); }
  static void PackQueries(const Element* q, int64_t stride, size_t rows, size_t size,
                          Element* panel) {
    bf16_pack_panels(Bits(q), 1, stride, size, rows, Bits(panel));
  }

  static void Scores(size_t keys, size_t /*queries*/, size_t size, const Element* k, size_t ld,
                     const Element* panel, float* s) {
    bf16_tile_product(keys, kCols, size, Bits(k), ld, Bits(panel), s, kCols, /*accumulate=*/false);
  }

  static constexpr bool kTellsOfStrips = false;

  // The unit takes values as rows of Vᵀ.
  static constexpr bool kPacksValues = true;
  static size_t ValuesSize(size_t keys, size_t value_size) {
    return bf16_packed_strips_size(value_size, keys);
  }
  static size_t ValuesPitch(size_t keys, size_t /*value_size*/) {
    return kBf16Rows * bf16_padded_k(keys);
  }
  static void PackValues(const Element* v, int64_t stride, int64_t keys, int64_t value_size,
                         Element* dst) {
    bf16_pack_strips(Bits(v), 1, stride, static_cast<size_t>(value_size), static_cast<size_t>(keys),
                     Bits(dst));
  }

  static void AddValues(size_t value_size, size_t /*queries*/, size_t keys, const Element* v,
                        size_t strip, const float* w, Element* spare, float* c) {
    NarrowPairs(keys, w, Bits(spare));
    for (size_t i = 0; i < value_size; i += kBf16Rows, v += strip)
      bf16_strip_product(std::min(kBf16Rows, value_size - i), kCols, keys, Bits(v),
                         bf16_strip_form(/*row_stride=*/1), Bits(spare), c + i * kCols, kCols,
                         /*accumulate=*/true);
  }

  // Four panels of 32 queries make a product deep enough to be worth loading its sums. The panels
  // follow each other at [panel][keys][kCols] and become rows of bfloat16.
  static constexpr int64_t kFactorPanels = 4;
  static size_t FactorSize(size_t queries, size_t n) { return bf16_packed_size(queries, n); }
  static void PackFactor(const Element* b, int64_t stride, size_t queries, size_t n, Element* dst) {
    bf16_pack_panels(Bits(b), stride, 1, queries, n, Bits(dst));
  }
  static const Element* Factor(size_t keys, size_t panels, const float* w, Element* spare) {
    const hn::ScalableTag<uint32_t> du;
    const hn::Repartition<uint16_t, decltype(du)> d16;
    for (size_t p = 0; p < panels; ++p)
      for (size_t j = 0; j < keys; ++j, w += kCols)
        for (size_t v = 0; v < kCols; v += 2 * kLanes) {  // the upper halves are the odd lanes
          const auto low = hn::BitCast(d16, Rounded(w + v));
          const auto high = hn::BitCast(d16, Rounded(w + v + kLanes));
          hn::Store(hn::ConcatOdd(d16, high, low), d16,
                    Bits(spare) + (j * kFactorPanels + p) * kCols + v);
        }
    return spare;
  }
  // Across the diagonal a strip of keys starts with the first panel that sees it.
  static void AddFactor(size_t keys, size_t n, size_t queries, const size_t* seen, const Element* w,
                        const Element* b, float* c) {
    const size_t last = (queries - 1) / kCols;
    size_t panel = 0;
    for (size_t j = 0; j < keys; j += kBf16Rows) {
      while (panel < last && seen[panel] <= j) ++panel;
      const size_t first = panel * kCols;
      for (size_t column = 0; column < n; column += kBf16Cols)
        bf16_tile_product(std::min(kBf16Rows, keys - j), std::min(kBf16Cols, n - column),
                          queries - first, Bits(w) + j * kFactorPanels * kCols + first,
                          kFactorPanels * kCols,
                          Bits(b) + column * bf16_padded_k(queries) + first * kBf16Cols,
                          c + j * n + column, n, /*accumulate=*/true);
    }
  }

 private:
  // float32 with its upper half rounded to bfloat16, ties away from zero: one instruction, where
  // ties to even with care for every NaN take eight.
  static hn::Vec<hn::ScalableTag<uint32_t>> Rounded(const float* x) {
    const hn::ScalableTag<uint32_t> du;
    const auto bits = hn::BitCast(du, hn::Load(hn::ScalableTag<float>(), x));
    return hn::Add(bits, hn::Set(du, 0x8000U));
  }

  // Weights [keys × 32] as a panel of bfloat16, pairs of keys side by side.
  static void NarrowPairs(size_t keys, const float* w, uint16_t* pairs) {
    const hn::ScalableTag<uint32_t> du;
    const auto upper = hn::Set(du, 0xFFFF0000U);
    const auto rounded = [&](size_t j, size_t v) HWY_ATTR { return Rounded(w + j * kCols + v); };
    auto* to = reinterpret_cast<uint32_t*>(pairs);
    size_t j = 0;
    for (; j + 2 <= keys; j += 2, to += kCols)
      for (size_t v = 0; v < kCols; v += kLanes)
        hn::Store(hn::OrAnd(hn::ShiftRight<16>(rounded(j, v)), rounded(j + 1, v), upper), du,
                  to + v);
    for (; j < bf16_padded_k(keys); j += 2, to += kCols)
      for (size_t v = 0; v < kCols; v += kLanes)
        hn::Store(j < keys ? hn::ShiftRight<16>(rounded(j, v)) : hn::Zero(du), du, to + v);
  }
};

#endif  // AMX

// ------------------------------------------------------------------------------------ operands

// One head of a [B, H, T, D] tensor: rows of `size`, last axis contiguous.
template <class T>
struct HeadRef {
  T* data;
  int64_t stride;
  T* row(int64_t i) const { return data + i * stride; }
};
template <class T>
HWY_INLINE HeadRef<T> HeadOf(const Tensor& x, int64_t batch, int64_t head, int64_t first_row) {
  const Strides& strides = x.strides();
  return {output<T>(x) + batch * strides[0] + head * strides[1] + first_row * strides[2],
          strides[2]};
}

// A rectangle of scores: queries [i, i + rows) by keys [j, j + cols) of one head of one span.
struct ScoreTile {
  const AttentionSpan& span;
  int64_t head;
  int64_t i, rows;
  int64_t j, cols;
};

// True where a score is just the scaled dot product: then the scale is left to the exponential.
inline bool PlainScores(const AttentionInputs& in, const AttentionParams& params) {
  return params.softcap <= 0 && params.scale > 0 && !in.bias.defined() && !in.mask.defined() &&
         !in.slopes.defined();
}

// Where the bias and mask of row i begin, for key j of a tile.
template <class T>
HWY_INLINE const T* ScoreRow(const Tensor& x, const ScoreTile& tile, int64_t i) {
  const Strides& strides = x.strides();
  return input<T>(x) + tile.span.batch * strides[0] + tile.head * strides[1] +
         (tile.span.q_begin + tile.i + i) * strides[2] + (tile.span.k_begin + tile.j) * strides[3];
}

// -inf to what causality and windows forbid in a tile [keys][kCols].
template <int64_t kCols>
HWY_INLINE void ForbidOutsideLanes(const ScoreTile& tile, const AttentionParams& params, float* s) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  alignas(64) int32_t begin[kCols] = {}, end[kCols] = {};
  for (int64_t i = 0; i < tile.rows; ++i) {
    const KeyRange range = key_range(tile.span, params, tile.i + i);
    begin[i] = static_cast<int32_t>(std::clamp<int64_t>(range.begin - tile.j, 0, tile.cols));
    end[i] = static_cast<int32_t>(std::clamp<int64_t>(range.end - tile.j, 0, tile.cols));
  }
  for (int64_t j = 0; j < tile.cols; ++j)
    for (size_t v = 0; v < kCols; v += kLanes, s += kLanes) {
      const auto key = hn::Set(di, static_cast<int32_t>(j));
      const auto seen =
          hn::AndNot(hn::Lt(key, hn::Load(di, begin + v)), hn::Lt(key, hn::Load(di, end + v)));
      hn::Store(hn::IfThenElse(hn::RebindMask(d, seen), hn::Load(d, s), hn::Set(d, kMinusInfinity)),
                d, s);
    }
}

// dst[c][r] = src[r][c], rows × cols, both multiples of the lanes; pitches in floats.
HWY_INLINE void TransposeTile(const float* src, int64_t src_ld, int64_t rows, int64_t cols,
                              float* dst, int64_t ld) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) dst[c * ld + r] = src[r * src_ld + c];
#else
  const hn::ScalableTag<uint32_t> d;
  for (int64_t r = 0; r < rows; r += kLanes)
    for (int64_t c = 0; c < cols; c += kLanes)
      TransposeUnits(src + r * src_ld + c, static_cast<size_t>(src_ld),
                     [&](size_t p, auto v) HWY_ATTR {
                       float* to = dst + (c + static_cast<int64_t>(p)) * ld + r;
                       hn::StoreU(v, d, reinterpret_cast<uint32_t*>(to));
                     });
#endif
}

// f(i, scores of query i) for the queries of a tile [keys][kCols], which it may change: what looks
// at a query's keys one after the other. `rows` holds kCols rows of ld scores.
template <int64_t kCols, class F>
HWY_INLINE void InRows(const ScoreTile& tile, float* s, float* rows, int64_t ld, F&& f) {
  const auto lanes = static_cast<int64_t>(kLanes);
  const int64_t keys = (tile.cols + lanes - 1) / lanes * lanes;
  TransposeTile(s, kCols, keys, kCols, rows, ld);
  for (int64_t i = 0; i < tile.rows; ++i) f(i, rows + i * ld);
  TransposeTile(rows, ld, kCols, keys, s, kCols);
}

// s = softcap(scale · s) + bias + slope · (j - place), -inf where the mask forbids; in place.
inline HWY_NOINLINE void FinishRow(const ScoreTile& tile, const AttentionInputs& in,
                                   const AttentionParams& params, int64_t i, float* s) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, static_cast<float>(params.scale));
  if (params.softcap > 0) {
    const auto cap = hn::Set(d, static_cast<float>(params.softcap));
    const auto inner = hn::Set(d, static_cast<float>(params.scale / params.softcap));
    MapRow(s, s, tile.cols,
           [&](auto v, size_t) HWY_ATTR { return hn::Mul(cap, Tanh(d, hn::Mul(v, inner))); });
  } else {
    MapRow(s, s, tile.cols, [&](auto v, size_t) HWY_ATTR { return hn::Mul(v, scale); });
  }
  if (in.bias.defined()) {
    const float* bias = ScoreRow<float>(in.bias, tile, i);
    const int64_t step = in.bias.strides()[3];
    if (step == 1) {
      MapRows(s, bias, s, tile.cols, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    } else {
      for (int64_t j = 0; j < tile.cols; ++j) s[j] += bias[j * step];
    }
  }
  if (in.slopes.defined()) {
    const float slope = input<float>(in.slopes)[tile.head];
    const int64_t place = tile.i + i + tile.span.diagonal;
    for (int64_t j = 0; j < tile.cols; ++j) s[j] += slope * static_cast<float>(tile.j + j - place);
  }
  if (in.mask.defined()) {
    const bool* mask = ScoreRow<bool>(in.mask, tile, i);
    const int64_t step = in.mask.strides()[3];
    for (int64_t j = 0; j < tile.cols; ++j) s[j] = mask[j * step] ? s[j] : kMinusInfinity;
  }
}

// The keys that at least one query of [i, i + rows) may see.
inline KeyRange TileKeyRange(const AttentionSpan& span, const AttentionParams& params, int64_t i,
                             int64_t rows) {
  const KeyRange first = key_range(span, params, i), last = key_range(span, params, i + rows - 1);
  if (first.begin == first.end || last.begin == last.end) {  // look for those that see something
    KeyRange all{0, 0};
    for (int64_t r = i; r < i + rows; ++r) {
      const KeyRange range = key_range(span, params, r);
      if (range.begin == range.end) continue;
      if (all.end == 0) all.begin = range.begin;  // windows only move to the right
      all.end = std::max(all.end, range.end);
    }
    return all;
  }
  return {first.begin, std::max(first.end, last.end)};
}

// True where every query of the tile may see every key of it.
HWY_INLINE bool WholeTileAllowed(const ScoreTile& tile, const AttentionParams& params) {
  const KeyRange first = key_range(tile.span, params, tile.i);
  const KeyRange last = key_range(tile.span, params, tile.i + tile.rows - 1);
  return std::max(first.begin, last.begin) <= tile.j &&
         std::min(first.end, last.end) >= tile.j + tile.cols;
}

// Multiplies a row of weights (or of their gradients) by 0 where dropped and 1 / (1 - p) elsewhere.
inline HWY_NOINLINE void DropRow(const ScoreTile& tile, const Tensor& query, const Tensor& key,
                                 const AttentionParams& params, int64_t i, float* w) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<uint32_t> du;
  const auto threshold = hn::Set(du, dropout_threshold(params.dropout));
  const auto kept = hn::Set(d, static_cast<float>(1 / (1 - params.dropout)));
  const PhiloxField field(params.random);
  uint64_t element = dropout_element(query, key, tile.span.batch, tile.head,
                                     tile.span.q_begin + tile.i + i, tile.j);
  constexpr int64_t kBlock = 4 * PhiloxField::kStep;
  for (int64_t j = 0; j < tile.cols; j += kBlock, element += kBlock) {
    HWY_ALIGN uint32_t words[kBlock];
    const int64_t count = std::min(kBlock, tile.cols - j);
    field.Fill(element, static_cast<size_t>(count), words);
    const uint32_t* at = words;
    MapRow(w + j, w + j, count, [&](auto v, size_t) HWY_ATTR {
      const auto dropped = hn::Lt(hn::Load(du, at), threshold);
      at += hn::Lanes(du);
      return hn::IfThenZeroElse(hn::RebindMask(d, dropped), hn::Mul(v, kept));
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
