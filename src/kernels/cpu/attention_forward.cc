#include "kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_forward.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "base/cpu_info.h"
#include "base/parallel.h"
#include "kernels/cpu/attention-inl.h"
#include "kernels/cpu/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Tile by tile, queries in the lanes (attention-inl.h):
//   Sᵀ = K Qᵀ,  Wᵀ = 2^(scale · Sᵀ - highest),  Oᵀ += Vᵀ Wᵀ.
// The engines take K (float32: V too) from where it lies.

// Keys of a tile: as many as make 16 KiB of scores, but enough for the product with the values to
// be worth loading its sums.
constexpr int64_t TileKeys(int64_t queries) { return std::max<int64_t>(4096 / queries, 128); }
// Queries that a task takes past each tile of keys, which the L2 cache holds meanwhile.
constexpr int64_t kTaskQueries = 128;

// Keys and values as the engine multiplies them: from where they lie if it can, else from a copy
// that is made once a call and read by all queries. Memory linear in the number of keys.
template <class Engine, class Source>
class KeyValues {
 public:
  using Element = typename Engine::Element;
  static constexpr int64_t kTileKeys = TileKeys(Engine::kCols);
  struct Rows {
    const Element* data;
    size_t ld;
  };

  KeyValues(const AttentionInputs& in, const std::vector<AttentionSpan>& spans)
      : in_(in), spans_(spans) {
    const auto size = static_cast<size_t>(in.key.size(3));
    const auto value_size = static_cast<size_t>(in.value.size(3));
    if (kCopiesKeys) key_block_ = kTileKeys * size;
    if (kCopiesValues) value_block_ = Engine::ValuesSize(kTileKeys, value_size);
    int64_t blocks = 0;
    for (const AttentionSpan& span : spans) {
      first_block_.push_back(blocks);
      blocks += BlocksOf(span) * in.key.size(1);
    }
    const size_t elements = static_cast<size_t>(blocks) * (key_block_ + value_block_);
    if (elements == 0) return;
    memory_ = Storage::allocate(Device::kCpu, elements * sizeof(Element));
    for (size_t s = 0; s < spans.size(); ++s) Copy(s);
  }

  // Keys from j on, which begins a tile, and their values.
  Rows Keys(size_t s, int64_t head, int64_t j) const {
    if constexpr (kCopiesKeys) {
      return {Block(s, head, j / kTileKeys), static_cast<size_t>(in_.key.size(3))};
    } else {
      const auto key = HeadOf<Source>(in_.key, spans_[s].batch, head, spans_[s].k_begin + j);
      return {key.data, static_cast<size_t>(key.stride)};
    }
  }
  Rows Values(size_t s, int64_t head, int64_t j) const {
    if constexpr (kCopiesValues) {
      const auto count = static_cast<size_t>(std::min(kTileKeys, spans_[s].k_count - j));
      return {Block(s, head, j / kTileKeys) + key_block_,
              Engine::ValuesPitch(count, static_cast<size_t>(in_.value.size(3)))};
    } else {
      const auto value = HeadOf<Source>(in_.value, spans_[s].batch, head, spans_[s].k_begin + j);
      return {value.data, static_cast<size_t>(value.stride)};
    }
  }

 private:
  static constexpr bool kCopiesKeys = !std::is_same_v<Element, Source>;
  static constexpr bool kCopiesValues = kCopiesKeys || Engine::kPacksValues;

  static int64_t BlocksOf(const AttentionSpan& span) {
    return (span.k_count + kTileKeys - 1) / kTileKeys;
  }

  Element* Block(size_t s, int64_t head, int64_t block) const {
    const int64_t at = first_block_[s] + head * BlocksOf(spans_[s]) + block;
    return reinterpret_cast<Element*>(memory_->data()) +
           static_cast<size_t>(at) * (key_block_ + value_block_);
  }

  void Copy(size_t s) {
    const AttentionSpan& span = spans_[s];
    const int64_t blocks = BlocksOf(span), size = in_.key.size(3);
    parallel_tasks(blocks * in_.key.size(1), [&](int64_t task) HWY_ATTR {
      const int64_t head = task / blocks, block = task % blocks, j = block * kTileKeys;
      const int64_t count = std::min(kTileKeys, span.k_count - j);
      const auto key = HeadOf<Source>(in_.key, span.batch, head, span.k_begin + j);
      const auto value = HeadOf<Source>(in_.value, span.batch, head, span.k_begin + j);
      Element* to = Block(s, head, block);
      if (kCopiesKeys) CopyRows(key.data, key.stride, count, size, to, static_cast<size_t>(size));
      Engine::PackValues(value.data, value.stride, count, in_.value.size(3), to + key_block_);
    });
  }

  const AttentionInputs& in_;
  const std::vector<AttentionSpan>& spans_;
  size_t key_block_ = 0, value_block_ = 0;
  std::vector<int64_t> first_block_;
  std::shared_ptr<Storage> memory_;
};

// A block of queries of one head against all its keys.
template <class Engine, class Source>
class ForwardTask {
 public:
  using Element = typename Engine::Element;
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  static constexpr int64_t kCols = Engine::kCols;
  static constexpr int64_t kTileKeys = TileKeys(kCols);
  static constexpr int64_t kPanels = kTaskQueries / kCols;

  ForwardTask(const Tensor& query, const AttentionInputs& in, const AttentionParams& params,
              const KeyValues<Engine, Source>& keys)
      : query_(query),
        in_(in),
        params_(params),
        keys_(keys),
        plain_(PlainScores(in, params)),
        size_(query.size(3)),
        value_size_(in.value.size(3)),
        sums_size_(RoundUp(value_size_, kLanes) * kCols),
        panel_size_(Engine::PanelSize(static_cast<size_t>(size_))) {
    const int64_t row = std::max<int64_t>(kTileKeys, RoundUp(value_size_, kLanes));
    scores_ = thread_scratch<float>(
        Scratch::kAttentionScores,
        static_cast<size_t>(kCols * (kTileKeys + row) + kPanels * sums_size_));
    rows_ = scores_ + kTileKeys * kCols;
    sums_ = rows_ + row * kCols;
    panels_ =
        thread_scratch<Element>(Scratch::kAttentionRows, kPanels * panel_size_ + kTileKeys * kCols);
    spare_ = panels_ + kPanels * panel_size_;
  }

  void Run(size_t s, const AttentionSpan& span, int64_t head, int64_t i, const Tensor& out,
           const Tensor& lse) {
    const int64_t rows = std::min(kTaskQueries, span.q_count - i);
    const int64_t key_head = head / (query_.size(1) / in_.key.size(1));
    BringRows(HeadOf<Source>(query_, span.batch, head, span.q_begin + i), rows, size_);
    for (int64_t p = 0; p * kCols < rows; ++p) Begin(span, head, i + p * kCols, p);
    const KeyRange range = TileKeyRange(span, params_, i, rows);
    for (int64_t j = range.begin / kTileKeys * kTileKeys; j < range.end; j += kTileKeys) {
      const auto keys = keys_.Keys(s, key_head, j), values = keys_.Values(s, key_head, j);
      if (j + kTileKeys >= range.end)
        BringRows(HeadOf<Source>(out, span.batch, head, span.q_begin + i), rows, value_size_);
      for (int64_t p = 0; p * kCols < rows; ++p) {
        const KeyRange seen = panel_[p].range;
        const int64_t cols = std::min(kTileKeys, seen.end - j);
        if (cols <= 0 || seen.begin >= j + cols) continue;
        Step({span, head, i + p * kCols, panel_[p].rows, j, cols}, p, keys, values);
      }
    }
    for (int64_t p = 0; p * kCols < rows; ++p) Finish(span, head, i + p * kCols, p, out, lse);
  }

 private:
  using Rows = typename KeyValues<Engine, Source>::Rows;

  // The queries of a panel and their online softmax (Milakov and Gimelshein, 2018), in powers of 2.
  // A score that is higher than all before raises `highest`, and then what was summed must shrink,
  // but only where it is higher by kSlack: weights of 2^kSlack do float32 no harm.
  static constexpr float kSlack = 8.0F;
  struct Panel {
    int64_t rows;
    KeyRange range;                    // of keys that at least one of them may see
    alignas(64) float highest[kCols];  // of the scores so far, less at most kSlack, times log2 e
    alignas(64) float sum[kCols];      // of 2^(score - highest)
    bool calm;  // all have a finite `highest`, which the last tile set first or left as it was
  };

  void Begin(const AttentionSpan& span, int64_t head, int64_t i, int64_t p) {
    Panel& panel = panel_[p];
    panel.rows = std::min(kCols, span.q_count - i);
    panel.range = TileKeyRange(span, params_, i, panel.rows);
    panel.calm = false;
    std::fill(panel.highest, panel.highest + kCols, kMinusInfinity);
    std::fill(panel.sum, panel.sum + kCols, 0.0F);
    std::fill(sums_ + p * sums_size_, sums_ + (p + 1) * sums_size_, 0.0F);
    const auto q = HeadOf<Source>(query_, span.batch, head, span.q_begin + i);
    Engine::PackQueries(q.data, q.stride, static_cast<size_t>(panel.rows),
                        static_cast<size_t>(size_), panels_ + static_cast<size_t>(p) * panel_size_);
  }

  // Rows come nearer: queries before they are packed, the output while the last tile is multiplied.
  // Always inlined: the compiler drops calls of functions that do nothing but prefetch.
  static HWY_INLINE void BringRows(HeadRef<Source> x, int64_t rows, int64_t size) {
    constexpr int64_t kLine = 64 / sizeof(Source);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t at = 0; at < size; at += kLine)
        __builtin_prefetch(x.row(r) + at, /*read*/ 0, /*to L2*/ 2);
  }

  void Step(const ScoreTile& tile, int64_t p, Rows keys, Rows values) {
    const auto count = static_cast<size_t>(tile.cols), queries = static_cast<size_t>(tile.rows);
    float* sums = sums_ + p * sums_size_;
    const Element* packed = panels_ + static_cast<size_t>(p) * panel_size_;
    const bool whole = WholeTileAllowed(tile, params_);
    VisitUsedVectors<kCols / kLanes>(queries, [&](auto used) HWY_ATTR {
      if (whole && WeighAtOnce<used>(count, panel_[p], keys, packed)) return;
      Engine::Scores(count, queries, static_cast<size_t>(size_), keys.data, keys.ld, packed,
                     scores_);
      if (!plain_)
        InRows<kCols>(tile, scores_, rows_, kTileKeys,
                      [&](int64_t i, float* s) HWY_ATTR { FinishRow(tile, in_, params_, i, s); });
      if (!whole) ForbidOutsideLanes<kCols>(tile, params_, scores_);
      Weigh<used>(tile.cols, panel_[p], sums);
    });
    if (params_.dropout > 0)
      InRows<kCols>(tile, scores_, rows_, kTileKeys, [&](int64_t i, float* w) HWY_ATTR {
        DropRow(tile, query_, in_.key, params_, i, w);
      });
    Engine::AddValues(static_cast<size_t>(value_size_), queries, count, values.data, values.ld,
                      scores_, spare_, sums);
  }

  // After a calm tile the next one is likely to be calm too, and then its scores need not all be
  // known before the first are weighed: each strip is, as it leaves its product. False where that
  // was wrong, or is not to be tried. Sums and weights have the same bits as those of Weigh.
  template <size_t kVectors>
  HWY_INLINE bool WeighAtOnce(size_t keys, Panel& panel, Rows rows, const Element* packed) {
    if constexpr (Engine::kTellsOfStrips) {
      if (!plain_ || !panel.calm) return false;
      const D d;
      const V scale = hn::Set(d, static_cast<float>(params_.scale) * kLog2E);
      alignas(64) float most[kVectors * kLanes], sum[kVectors * kLanes] = {};
      std::fill_n(most, kVectors * kLanes, kMinusInfinity);
      const auto weigh = [&](float* scores, size_t count) HWY_ATTR {
        for (size_t v = 0; v < kVectors * kLanes; v += kLanes) {
          const V shift = hn::Load(d, panel.highest + v);
          V highest = hn::Load(d, most + v), total = hn::Load(d, sum + v);
          for (float* at = scores + v; at < scores + count * kCols; at += kCols) {
            const V power = hn::MulSub(hn::Load(d, at), scale, shift);
            const V w = Exp2<Element>(d, power);
            hn::Store(w, d, at);
            highest = hn::Max(highest, power);
            total = hn::Add(total, w);
          }
          hn::Store(highest, d, most + v);
          hn::Store(total, d, sum + v);
        }
      };
      Engine::template Scores<kVectors>(keys, static_cast<size_t>(size_), rows.data, rows.ld,
                                        packed, scores_, weigh);
      for (size_t v = 0; v < kVectors * kLanes; v += kLanes)
        panel.calm &= hn::AllFalse(d, hn::Gt(hn::Load(d, most + v), hn::Set(d, kSlack)));
      if (!panel.calm) return false;
      for (size_t v = 0; v < kVectors * kLanes; v += kLanes)
        hn::Store(hn::Add(hn::Load(d, panel.sum + v), hn::Load(d, sum + v)), d, panel.sum + v);
      return true;
    }
    return false;
  }

  // Scores into weights relative to the highest score so far; what was summed before shrinks.
  template <int64_t kVectors>
  HWY_INLINE void Weigh(int64_t keys, Panel& panel, float* sums) {
    const D d;
    V most[2][kVectors], sum[kVectors], shift[kVectors], shrink[kVectors];
    const auto load = [&](int64_t j, int64_t v)
                          HWY_ATTR { return hn::Load(d, scores_ + j * kCols + v * kLanes); };
    for (int64_t v = 0; v < kVectors; ++v) most[0][v] = most[1][v] = load(0, v);
    for (int64_t j = 1; j + 1 < keys; j += 2)  // two chains: one would wait for itself
      for (int64_t u = 0; u < 2; ++u)
        for (int64_t v = 0; v < kVectors; ++v) most[u][v] = hn::Max(most[u][v], load(j + u, v));
    const V scale = hn::Set(d, plain_ ? static_cast<float>(params_.scale) * kLog2E : kLog2E);
    bool grows = false;
    panel.calm = true;
    for (int64_t v = 0; v < kVectors; ++v) {
      const V last = hn::Max(most[1][v], load(keys - 1, v));
      const V before = hn::Load(d, panel.highest + v * kLanes);
      const V most_here = hn::Max(most[0][v], last);
      const auto rises = hn::Gt(hn::MulSub(most_here, scale, before), hn::Set(d, kSlack));
      const V highest = hn::IfThenElse(rises, hn::Mul(most_here, scale), before);
      hn::Store(highest, d, panel.highest + v * kLanes);
      // Where nothing may be seen yet -inf - 0 gives the weight 0, and -inf - -inf would not.
      shift[v] = hn::IfThenZeroElse(hn::Eq(highest, hn::Set(d, kMinusInfinity)), highest);
      shrink[v] = Exp2<Element>(d, hn::Sub(before, shift[v]));
      // What has seen nothing yet has nothing to shrink.
      const auto fresh = hn::Eq(before, hn::Set(d, kMinusInfinity));
      grows |= !hn::AllFalse(d, hn::AndNot(fresh, rises));
      panel.calm &= hn::AllTrue(d, hn::Eq(shift[v], highest));
      sum[v] = hn::Zero(d);
    }
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t v = 0; v < kVectors; ++v) {
        const V w = Exp2<Element>(d, hn::MulSub(load(j, v), scale, shift[v]));
        hn::Store(w, d, scores_ + j * kCols + v * kLanes);
        sum[v] = hn::Add(sum[v], w);
      }
    for (int64_t v = 0; v < kVectors; ++v) {
      float* at = panel.sum + v * kLanes;
      hn::Store(hn::MulAdd(hn::Load(d, at), shrink[v], sum[v]), d, at);
    }
    panel.calm &= !grows;
    if (!grows) return;
    for (int64_t r = 0; r < value_size_; ++r)
      for (int64_t v = 0; v < kVectors; ++v) {
        float* at = sums + r * kCols + v * kLanes;
        hn::Store(hn::Mul(hn::Load(d, at), shrink[v]), d, at);
      }
  }

  void Finish(const AttentionSpan& span, int64_t head, int64_t i, int64_t p, const Tensor& out,
              const Tensor& lse) {
    const D d;
    Panel& panel = panel_[p];
    for (int64_t v = 0; v < kCols; v += kLanes) {
      const V sum = hn::Load(d, panel.sum + v), highest = hn::Load(d, panel.highest + v);
      const V one = hn::Set(d, 1.0F);
      hn::Store(hn::MulAdd(highest, hn::Set(d, kLn2), Log(d, sum)), d, panel.highest + v);
      hn::Store(hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(d)), hn::Div(one, sum)), d, panel.sum + v);
    }
    float* l = output<float>(lse) + (span.batch * query_.size(1) + head) * query_.size(2) +
               span.q_begin + i;
    std::copy(panel.highest, panel.highest + panel.rows, l);
    const int64_t row = RoundUp(value_size_, kLanes);
    TransposeTile(sums_ + p * sums_size_, kCols, row, kCols, rows_, row);
    const auto y = HeadOf<Source>(out, span.batch, head, span.q_begin + i);
    for (int64_t r = 0; r < panel.rows; ++r) {
      const V by = hn::Set(d, panel.sum[r]);
      MapRow(rows_ + r * row, y.row(r), value_size_,
             [&](auto v, size_t) HWY_ATTR { return hn::Mul(v, by); });
    }
  }

  static constexpr int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

  const Tensor& query_;
  const AttentionInputs& in_;
  const AttentionParams& params_;
  const KeyValues<Engine, Source>& keys_;
  const bool plain_;
  const int64_t size_, value_size_, sums_size_;
  const size_t panel_size_;
  float* scores_;    // [keys][kCols], then the weights
  float* rows_;      // the same as rows of queries, where something needs them; and the output
  float* sums_;      // of weighted values, [panels][value size][kCols]
  Element* panels_;  // the queries
  Element* spare_;   // of AddValues
  Panel panel_[kPanels];
};

template <class Engine, class Source>
void Forward(const Tensor& query, const AttentionInputs& in, const Tensor& out, const Tensor& lse,
             const AttentionParams& params) {
  using Task = ForwardTask<Engine, Source>;
  const std::vector<AttentionSpan> spans = attention_spans(query, in);
  const KeyValues<Engine, Source> keys(in, spans);
  // Tasks: every block of queries of every head of every span. The blocks of a head follow each
  // other, for they read the same keys; the last of a causal span see the most keys and go first,
  // so that no thread is left with a long one at the end.
  const auto blocks_of = [](const AttentionSpan& span) {
    return (span.q_count + kTaskQueries - 1) / kTaskQueries;
  };
  std::vector<int64_t> ends;
  int64_t tasks = 0;
  for (const AttentionSpan& span : spans) ends.push_back(tasks += query.size(1) * blocks_of(span));
  parallel_tasks(tasks, [&](int64_t task) HWY_ATTR {
    [[maybe_unused]] const typename Engine::Scope scope;
    const auto s =
        static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), task) - ends.begin());
    const int64_t left = ends[s] - 1 - task, blocks = blocks_of(spans[s]);
    Task(query, in, params, keys)
        .Run(s, spans[s], left / blocks, left % blocks * kTaskQueries, out, lse);
  });
}

void Attention(const Tensor& query, const AttentionInputs& in, const Tensor& out, const Tensor& lse,
               const AttentionParams& params) {
  const bool few = query.size(2) <= static_cast<int64_t>(kNarrow * kLanes);
  if (query.dtype() == DType::kFloat32) {
    if (few) return Forward<Float32Panels<kNarrow>, float>(query, in, out, lse, params);
    return Forward<Float32Panels<kWide>, float>(query, in, out, lse, params);
  }
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if (bf16_products_usable())
    return Forward<Bf16Panels, hwy::bfloat16_t>(query, in, out, lse, params);
#endif
  if (few) return Forward<Float32Panels<kNarrow>, hwy::bfloat16_t>(query, in, out, lse, params);
  Forward<Float32Panels<kWide>, hwy::bfloat16_t>(query, in, out, lse, params);
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(Attention);

void register_attention_forward() {
  for (DType dtype : {DType::kFloat32, DType::kBFloat16})
    add_kernel(kAttention, Device::kCpu, dtype,
               [](const Tensor& query, const AttentionInputs& in, const Tensor& out,
                  const Tensor& lse, const AttentionParams& params) {
                 HWY_DYNAMIC_DISPATCH(Attention)(query, in, out, lse, params);
               });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
