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

// A tile of scores. The rows are a multiple of the register tiles of both engines; the whole tile
// (24 KiB and up) stays in the L2 cache between its two products.
constexpr int64_t kQueryRows = 96;
constexpr int64_t kKeyCols = 256;

// The online softmax of one query row (Milakov and Gimelshein, 2018), in powers of two.
struct RowState {
  float highest = kMinusInfinity;  // of the scores so far, times log2 e
  float sum = 0;                   // of 2^(score - highest)
};

// Keys and values of every key head, packed once and read by all queries that attend to them.
// Memory linear in the number of keys.
template <class Engine>
class PackedKeys {
 public:
  using Element = typename Engine::Element;

  PackedKeys(const Tensor& query, const AttentionInputs& in,
             const std::vector<AttentionSpan>& spans)
      : key_block_(Engine::PackedSize(static_cast<size_t>(query.size(3)), kKeyCols)),
        value_block_(Engine::PackedSize(kKeyCols, static_cast<size_t>(in.value.size(3)))),
        heads_(in.key.size(1)) {
    int64_t blocks = 0;
    for (const AttentionSpan& span : spans) {
      first_block_.push_back(blocks);
      blocks += BlocksOf(span) * heads_;
    }
    const size_t elements = static_cast<size_t>(blocks) * (key_block_ + value_block_);
    memory_ = Storage::allocate(Device::kCpu, elements * sizeof(Element));
  }

  static int64_t BlocksOf(const AttentionSpan& span) {
    return (span.k_count + kKeyCols - 1) / kKeyCols;
  }

  Element* Keys(size_t span_index, const AttentionSpan& span, int64_t head, int64_t block) const {
    const int64_t at = first_block_[span_index] + head * BlocksOf(span) + block;
    return reinterpret_cast<Element*>(memory_->data()) +
           static_cast<size_t>(at) * (key_block_ + value_block_);
  }
  Element* Values(size_t span_index, const AttentionSpan& span, int64_t head, int64_t block) const {
    return Keys(span_index, span, head, block) + key_block_;
  }

  template <class Source>
  void Pack(const AttentionInputs& in, const std::vector<AttentionSpan>& spans) {
    const auto size = static_cast<size_t>(in.key.size(3));
    const auto value_size = static_cast<size_t>(in.value.size(3));
    for (size_t s = 0; s < spans.size(); ++s) {
      const AttentionSpan& span = spans[s];
      const int64_t blocks = BlocksOf(span);
      parallel_tasks(blocks * heads_, [&](int64_t task) HWY_ATTR {
        const int64_t head = task / blocks, block = task % blocks, j = block * kKeyCols;
        const auto cols = static_cast<size_t>(std::min(kKeyCols, span.k_count - j));
        const auto key = HeadOf<Source>(in.key, span.batch, head, span.k_begin + j);
        const auto value = HeadOf<Source>(in.value, span.batch, head, span.k_begin + j);
        Engine::Pack(key.data, 1, key.stride, size, cols, Keys(s, span, head, block));
        Engine::Pack(value.data, value.stride, 1, cols, value_size, Values(s, span, head, block));
      });
    }
  }

 private:
  size_t key_block_, value_block_;
  int64_t heads_;
  std::vector<int64_t> first_block_;
  std::shared_ptr<Storage> memory_;
};

// The largest of a row, four chains at a time: one would wait for itself.
HWY_INLINE float TileRowMax(const float* s, int64_t cols) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto m0 = hn::Set(d, kMinusInfinity), m1 = m0, m2 = m0, m3 = m0;
  int64_t j = 0;
  for (; j + 4 * lanes <= cols; j += 4 * lanes) {
    m0 = hn::Max(m0, hn::LoadU(d, s + j));
    m1 = hn::Max(m1, hn::LoadU(d, s + j + lanes));
    m2 = hn::Max(m2, hn::LoadU(d, s + j + 2 * lanes));
    m3 = hn::Max(m3, hn::LoadU(d, s + j + 3 * lanes));
  }
  const auto most = hn::Max(hn::Max(m0, m1), hn::Max(m2, m3));
  float highest = hn::GetLane(hn::MaxOfLanes(d, most));
  if (j < cols) highest = std::max(highest, RowMax(s + j, cols - j));
  return highest;
}

// Scores of a row into weights relative to the row's maximum so far; returns the factor by which
// what was summed before must shrink. `scale` takes a score to powers of two.
template <class Element>
HWY_INLINE float SoftmaxRow(const float* s, int64_t cols, float scale, RowState& state,
                            Element* weights) {
  const hn::ScalableTag<float> d;
  const float highest = std::max(state.highest, TileRowMax(s, cols) * scale);
  if (highest == kMinusInfinity) {
    MapRow(s, weights, cols, [&](auto, size_t) HWY_ATTR { return hn::Zero(d); });
    return 1;
  }
  const auto factor = hn::Set(d, scale), shift = hn::Set(d, highest);
  auto sum = hn::Zero(d);
  MapRow(s, weights, cols, [&](auto v, size_t count) HWY_ATTR {
    const auto w = Exp2OfNonPositive(d, hn::MulSub(v, factor, shift));
    sum = hn::Add(sum, FirstOf(d, w, count));
    return w;
  });
  const float shrink = state.highest == kMinusInfinity ? 0.0F : std::exp2(state.highest - highest);
  state.sum = state.sum * shrink + SumLanes(d, sum);
  state.highest = highest;
  return shrink;
}

HWY_INLINE void ScaleRow(float* row, int64_t size, float factor) {
  const hn::ScalableTag<float> d;
  const auto by = hn::Set(d, factor);
  MapRow(row, row, size, [&](auto v, size_t) HWY_ATTR { return hn::Mul(v, by); });
}

// One block of queries of one head against all its keys.
template <class Engine, class Source>
class ForwardTask {
 public:
  using Element = typename Engine::Element;

  ForwardTask(const Tensor& query, const AttentionInputs& in, const AttentionParams& params,
              const PackedKeys<Engine>& packed)
      : query_(query),
        in_(in),
        params_(params),
        packed_(packed),
        plain_(PlainScores(in, params)),
        size_(query.size(3)),
        value_size_(in.value.size(3)) {
    constexpr size_t kTile = kQueryRows * kKeyCols;
    scores_ = thread_scratch<float>(Scratch::kAttentionScores,
                                    kTile + static_cast<size_t>(kQueryRows * value_size_));
    sums_ = scores_ + kTile;
    if constexpr (std::is_same_v<Element, float>) {
      rows_ =
          thread_scratch<Element>(Scratch::kAttentionRows, static_cast<size_t>(kQueryRows * size_));
      weights_ = scores_;  // in place
    } else {
      rows_ = thread_scratch<Element>(Scratch::kAttentionRows,
                                      kTile + static_cast<size_t>(kQueryRows * size_));
      weights_ = rows_ + kQueryRows * size_;
    }
  }

  void Run(size_t span_index, const AttentionSpan& span, int64_t head, int64_t i, const Tensor& out,
           const Tensor& lse) {
    const int64_t rows = std::min(kQueryRows, span.q_count - i);
    const int64_t key_head = head / (query_.size(1) / in_.key.size(1));
    const auto q = HeadOf<Source>(query_, span.batch, head, span.q_begin + i);
    CopyRows(q.data, q.stride, rows, size_, rows_, static_cast<size_t>(size_));
    std::fill(states_, states_ + rows, RowState{});
    std::fill(sums_, sums_ + rows * value_size_, 0.0F);
    const KeyRange range = TileKeyRange(span, params_, i, rows);
    for (int64_t block = range.begin / kKeyCols; block * kKeyCols < range.end; ++block) {
      const int64_t j = block * kKeyCols, cols = std::min(kKeyCols, range.end - j);
      Step({span, head, i, rows, j, cols}, packed_.Keys(span_index, span, key_head, block),
           packed_.Values(span_index, span, key_head, block));
    }
    Finish(span, head, i, rows, out, lse);
  }

 private:
  void Step(const ScoreTile& tile, const Element* keys, const Element* values) {
    const auto rows = static_cast<size_t>(tile.rows), cols = static_cast<size_t>(tile.cols);
    Engine::Product(rows, cols, static_cast<size_t>(size_), rows_, static_cast<size_t>(size_), keys,
                    scores_, kKeyCols, /*accumulate=*/false);
    const bool whole = WholeTileAllowed(tile, params_);
    const float scale = plain_ ? static_cast<float>(params_.scale) * kLog2E : kLog2E;
    for (int64_t i = 0; i < tile.rows; ++i) {
      float* s = scores_ + i * kKeyCols;
      if (!plain_) FinishRow(tile, in_, params_, i, s);
      if (!whole) ForbidOutside(tile, params_, i, s);
      const float shrink = SoftmaxRow(s, tile.cols, scale, states_[i], weights_ + i * kKeyCols);
      if (shrink != 1) ScaleRow(sums_ + i * value_size_, value_size_, shrink);
      if (params_.dropout > 0) Drop(tile, i);
    }
    const auto packed = static_cast<size_t>(std::min(kKeyCols, tile.span.k_count - tile.j));
    const auto value_size = static_cast<size_t>(value_size_);
    AddProductOfFirst<Engine>(rows, value_size, cols, packed, weights_, kKeyCols, values, sums_,
                              value_size);
  }

  void Drop(const ScoreTile& tile, int64_t i) {
    alignas(64) float kept[kKeyCols];
    MapRow(weights_ + i * kKeyCols, kept, tile.cols, [](auto v, size_t) HWY_ATTR { return v; });
    DropRow(tile, query_, in_.key, params_, i, kept);
    MapRow(kept, weights_ + i * kKeyCols, tile.cols, [](auto v, size_t) HWY_ATTR { return v; });
  }

  void Finish(const AttentionSpan& span, int64_t head, int64_t i, int64_t rows, const Tensor& out,
              const Tensor& lse) {
    const auto y = HeadOf<Source>(out, span.batch, head, span.q_begin + i);
    float* l = output<float>(lse) + (span.batch * query_.size(1) + head) * query_.size(2) +
               span.q_begin + i;
    const hn::ScalableTag<float> d;
    for (int64_t r = 0; r < rows; ++r) {
      const RowState& state = states_[r];
      l[r] = (state.highest + std::log2(state.sum)) * kLn2;  // log2 0 = -inf
      const auto by = hn::Set(d, state.sum == 0 ? 0.0F : 1.0F / state.sum);
      MapRow(sums_ + r * value_size_, y.row(r), value_size_,
             [&](auto v, size_t) HWY_ATTR { return hn::Mul(v, by); });
    }
  }

  const Tensor& query_;
  const AttentionInputs& in_;
  const AttentionParams& params_;
  const PackedKeys<Engine>& packed_;
  const bool plain_;
  const int64_t size_, value_size_;
  float* scores_;
  float* sums_;       // of weighted values, [rows][value size]
  Element* rows_;     // the queries
  Element* weights_;  // [rows][kKeyCols]
  RowState states_[kQueryRows];
};

template <class Engine, class Source>
void Forward(const Tensor& query, const AttentionInputs& in, const Tensor& out, const Tensor& lse,
             const AttentionParams& params) {
  const std::vector<AttentionSpan> spans = attention_spans(query, in);
  PackedKeys<Engine> packed(query, in, spans);
  packed.template Pack<Source>(in, spans);
  // Tasks: every block of queries of every head of every span. The last blocks of a causal span see
  // the most keys and go first, so that no thread is left with a long one at the end.
  std::vector<int64_t> ends;
  int64_t tasks = 0;
  for (const AttentionSpan& span : spans)
    ends.push_back(tasks += query.size(1) * ((span.q_count + kQueryRows - 1) / kQueryRows));
  parallel_tasks(tasks, [&](int64_t number) HWY_ATTR {
    [[maybe_unused]] const typename Engine::Scope scope;
    const int64_t task = tasks - 1 - number;
    const auto s =
        static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), task) - ends.begin());
    const int64_t within = task - (s == 0 ? 0 : ends[s - 1]);
    ForwardTask<Engine, Source>(query, in, params, packed)
        .Run(s, spans[s], within % query.size(1), within / query.size(1) * kQueryRows, out, lse);
  });
}

void Attention(const Tensor& query, const AttentionInputs& in, const Tensor& out, const Tensor& lse,
               const AttentionParams& params) {
  if (query.dtype() == DType::kFloat32)
    return Forward<Float32Engine, float>(query, in, out, lse, params);
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if (amx_bf16_usable()) return Forward<AmxEngine, hwy::bfloat16_t>(query, in, out, lse, params);
#endif
  Forward<Float32Engine, hwy::bfloat16_t>(query, in, out, lse, params);
}

// Recomputed row by row: what is asked for is small.
template <class Source>
void Weights(const Tensor& query, const AttentionInputs& in, const Tensor& lse, const Tensor& heads,
             const Tensor& rows, const Tensor& weights, const AttentionParams& params) {
  const std::vector<AttentionSpan> spans = attention_spans(query, in);
  const int64_t lines = query.size(0) * heads.count() * rows.count(), keys = in.key.size(2);
  const hn::ScalableTag<float> d;
  parallel_tasks(lines, [&](int64_t line) HWY_ATTR {
    const int64_t row = input<int64_t>(rows)[line % rows.count()];
    const int64_t head = input<int64_t>(heads)[line / rows.count() % heads.count()];
    const int64_t batch = line / rows.count() / heads.count();
    const AttentionSpan& span = span_of(spans, batch, row);
    float* w = output<float>(weights) + line * keys;
    std::fill(w, w + keys, 0.0F);
    const float log_sum = input<float>(lse)[(batch * query.size(1) + head) * query.size(2) + row];
    if (log_sum == kMinusInfinity) return;
    const ScoreTile tile{span, head, row - span.q_begin, 1, 0, span.k_count};
    const auto q = HeadOf<Source>(query, batch, head, row);
    const auto k =
        HeadOf<Source>(in.key, batch, head / (query.size(1) / in.key.size(1)), span.k_begin);
    float* s = w + span.k_begin;
    for (int64_t j = 0; j < span.k_count; ++j) s[j] = RowDot(q.data, k.row(j), query.size(3));
    FinishRow(tile, in, params, 0, s);
    ForbidOutside(tile, params, 0, s);
    MapRow(s, s, span.k_count,
           [&](auto v, size_t) HWY_ATTR { return Exp(d, hn::Sub(v, hn::Set(d, log_sum))); });
  });
}

void AttentionWeights(const Tensor& query, const AttentionInputs& in, const Tensor& lse,
                      const Tensor& heads, const Tensor& rows, const Tensor& weights,
                      const AttentionParams& params) {
  if (query.dtype() == DType::kFloat32)
    return Weights<float>(query, in, lse, heads, rows, weights, params);
  Weights<hwy::bfloat16_t>(query, in, lse, heads, rows, weights, params);
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(Attention);
HWY_EXPORT(AttentionWeights);

void register_attention_forward() {
  for (DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    add_kernel(kAttention, Device::kCpu, dtype,
               [](const Tensor& query, const AttentionInputs& in, const Tensor& out,
                  const Tensor& lse, const AttentionParams& params) {
                 HWY_DYNAMIC_DISPATCH(Attention)(query, in, out, lse, params);
               });
    add_kernel(
        kAttentionWeights, Device::kCpu, dtype,
        [](const Tensor& query, const AttentionInputs& in, const Tensor& lse, const Tensor& heads,
           const Tensor& rows, const Tensor& weights, const AttentionParams& params) {
          HWY_DYNAMIC_DISPATCH(AttentionWeights)(query, in, lse, heads, rows, weights, params);
        });
  }
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
