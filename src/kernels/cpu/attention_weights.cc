#include "kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_weights.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "base/parallel.h"
#include "kernels/cpu/attention-inl.h"
#include "kernels/cpu/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Rows of queries that follow each other in what was asked for and in one span.
struct QueryRun {
  int64_t line;        // of the first among those asked for
  int64_t row, count;  // rows of the whole tensor
};

std::vector<QueryRun> RunsOf(const std::vector<AttentionSpan>& spans, const Tensor& rows,
                             int64_t most) {
  std::vector<QueryRun> runs;
  const auto* list = input<int64_t>(rows);
  for (int64_t line = 0; line < rows.count(); ++line) {
    const int64_t row = list[line];
    // Batches have one span each, which holds every row; packed sequences are all of batch 0.
    if (!runs.empty() && runs.back().count < most && runs.back().row + runs.back().count == row &&
        &span_of(spans, 0, row) == &span_of(spans, 0, row - 1))
      ++runs.back().count;
    else
      runs.push_back({line, row, 1});
  }
  return runs;
}

// The weights of a run of queries of one head, from their log-sum-exp: tile by tile, as the forward
// forms its scores (attention_forward.cc), then written as rows.
template <class Engine, class Source>
class WeightsTask {
 public:
  static constexpr int64_t kCols = Engine::kCols;
  static constexpr int64_t kTileKeys = 4096 / kCols;

  WeightsTask(const Tensor& query, const AttentionInputs& in, const AttentionParams& params)
      : query_(query), in_(in), params_(params), plain_(PlainScores(in, params)) {
    const auto size = static_cast<size_t>(query.size(3));
    scores_ = thread_scratch<float>(Scratch::kAttentionScores, 2 * kTileKeys * kCols);
    panel_ =
        thread_scratch<float>(Scratch::kAttentionRows, Engine::PanelSize(size) + kTileKeys * size);
    keys_ = panel_ + Engine::PanelSize(size);
  }

  // lse, weights: of the run's first query; the others follow, `keys` apart.
  void Run(const AttentionSpan& span, int64_t head, const QueryRun& run, const float* lse,
           float* weights) const {
    const int64_t i = run.row - span.q_begin, size = query_.size(3), keys = in_.key.size(2);
    const auto q = HeadOf<Source>(query_, span.batch, head, run.row);
    Engine::PackQueries(q.data, q.stride, static_cast<size_t>(run.count), static_cast<size_t>(size),
                        panel_);
    for (int64_t r = 0; r < run.count; ++r) ZeroOutside(span, i + r, lse[r], weights + r * keys);
    const KeyRange range = TileKeyRange(span, params_, i, run.count);
    const int64_t key_head = head / (query_.size(1) / in_.key.size(1));
    for (int64_t j = range.begin; j < range.end; j += kTileKeys) {
      const ScoreTile tile{span, head, i, run.count, j, std::min(kTileKeys, range.end - j)};
      const auto k = HeadOf<Source>(in_.key, span.batch, key_head, span.k_begin + j);
      Score(tile, k);
      for (int64_t r = 0; r < run.count; ++r)
        Weigh(tile, r, lse[r], weights + r * keys + span.k_begin + j);
    }
  }

 private:
  // What query i may not look at, which is everything where nothing is left to it.
  void ZeroOutside(const AttentionSpan& span, int64_t i, float lse, float* w) const {
    KeyRange range = key_range(span, params_, i);
    if (lse == kMinusInfinity) range = {0, 0};
    std::fill(w, w + span.k_begin + range.begin, 0.0F);
    std::fill(w + span.k_begin + range.end, w + in_.key.size(2), 0.0F);
  }

  // The tile's dot products as rows of queries, after the scores with queries in lanes.
  void Score(const ScoreTile& tile, HeadRef<Source> k) const {
    const auto count = static_cast<size_t>(tile.cols), size = static_cast<size_t>(query_.size(3));
    const auto queries = static_cast<size_t>(tile.rows);
    if constexpr (std::is_same_v<Source, float>) {
      Engine::Scores(count, queries, size, k.data, static_cast<size_t>(k.stride), panel_, scores_);
    } else {
      CopyRows(k.data, k.stride, tile.cols, query_.size(3), keys_, size);
      Engine::Scores(count, queries, size, keys_, size, panel_, scores_);
    }
    const auto lanes = static_cast<int64_t>(kLanes);
    TransposeTile(scores_, kCols, (tile.cols + lanes - 1) / lanes * lanes, kCols,
                  scores_ + kTileKeys * kCols, kTileKeys);
  }

  void Weigh(const ScoreTile& tile, int64_t r, float lse, float* w) const {
    const hn::ScalableTag<float> d;
    if (lse == kMinusInfinity) return;
    const KeyRange range = key_range(tile.span, params_, tile.i + r);
    const int64_t begin = std::clamp<int64_t>(range.begin - tile.j, 0, tile.cols);
    const int64_t end = std::clamp<int64_t>(range.end - tile.j, begin, tile.cols);
    float* s = scores_ + (kCols + r) * kTileKeys;
    if (!plain_) FinishRow(tile, in_, params_, r, s);
    const auto scale = hn::Set(d, plain_ ? static_cast<float>(params_.scale) * kLog2E : kLog2E);
    const auto shift = hn::Set(d, lse * kLog2E);
    MapRow(s + begin, w + begin, end - begin,
           [&](auto v, size_t) HWY_ATTR { return Exp2<float>(d, hn::MulSub(v, scale, shift)); });
  }

  const Tensor& query_;
  const AttentionInputs& in_;
  const AttentionParams& params_;
  const bool plain_;
  float* scores_;  // [keys][kCols], then [kCols][keys]
  float* panel_;   // the queries
  float* keys_;    // a tile's, where they are not float32
};

template <class Engine, class Source>
void Weights(const Tensor& query, const AttentionInputs& in, const Tensor& lse, const Tensor& heads,
             const Tensor& rows, const Tensor& weights, const AttentionParams& params) {
  const std::vector<AttentionSpan> spans = attention_spans(query, in);
  const std::vector<QueryRun> runs = RunsOf(spans, rows, Engine::kCols);
  const auto count = static_cast<int64_t>(runs.size());
  parallel_tasks(query.size(0) * heads.count() * count, [&](int64_t task) HWY_ATTR {
    const QueryRun& run = runs[static_cast<size_t>(task % count)];
    const int64_t batch = task / count / heads.count(), at = task / count % heads.count();
    const int64_t head = input<int64_t>(heads)[at];
    const float* sums = input<float>(lse) + (batch * query.size(1) + head) * query.size(2);
    const int64_t line = (batch * heads.count() + at) * rows.count() + run.line;
    WeightsTask<Engine, Source>(query, in, params)
        .Run(span_of(spans, batch, run.row), head, run, sums + run.row,
             output<float>(weights) + line * in.key.size(2));
  });
}

void AttentionWeights(const Tensor& query, const AttentionInputs& in, const Tensor& lse,
                      const Tensor& heads, const Tensor& rows, const Tensor& weights,
                      const AttentionParams& params) {
  const bool few = rows.count() <= static_cast<int64_t>(kNarrow * kLanes);
  const auto run = [&]<class Source>(Source) {
    few ? Weights<Float32Panels<kNarrow>, Source>(query, in, lse, heads, rows, weights, params)
        : Weights<Float32Panels<kWide>, Source>(query, in, lse, heads, rows, weights, params);
  };
  if (query.dtype() == DType::kFloat32) return run(float());
  run(hwy::bfloat16_t());
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(AttentionWeights);

void register_attention_weights() {
  for (DType dtype : {DType::kFloat32, DType::kBFloat16})
    add_kernel(
        kAttentionWeights, Device::kCpu, dtype,
        [](const Tensor& query, const AttentionInputs& in, const Tensor& lse, const Tensor& heads,
           const Tensor& rows, const Tensor& weights, const AttentionParams& params) {
          HWY_DYNAMIC_DISPATCH(AttentionWeights)(query, in, lse, heads, rows, weights, params);
        });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
