#include "kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_backward.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "base/cpu_info.h"
#include "base/parallel.h"
#include "kernels/cpu/attention-inl.h"
#include "kernels/cpu/scratch.h"

// The weights are formed again, tile by tile, from the saved log-sum-exp. Five products a tile:
//   S = Q Kᵀ, G = dO Vᵀ, dV += Wᵀ dO, dK += dSᵀ Q, dQ += dS K.
// A task is a run of key blocks of one key head of one sequence: it owns its rows of dK and dV and
// has a dQ of its own, which are added up in the order of the tasks. How many runs there are
// depends on the sizes alone, so the bits do not depend on the number of threads.

#ifndef GLASSFORMER_ATTENTION_BACKWARD_TASK
#define GLASSFORMER_ATTENTION_BACKWARD_TASK
namespace glassformer::cpu {

struct BackwardTask {
  const AttentionSpan* span;
  int64_t key_head;
  int64_t first_key, end_key;
  float* d_query;  // [group, q_count, size], zero at the start
};

}  // namespace glassformer::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

constexpr int64_t kBackwardRows = 96;
constexpr int64_t kBackwardCols = 128;

// Carves pieces of 64-byte aligned memory out of one block.
class Carver {
 public:
  explicit Carver(std::byte* memory) : at_(memory) {}
  template <class T>
  T* Take(size_t count) {
    T* piece = reinterpret_cast<T*>(at_);
    at_ += (count * sizeof(T) + 63) / 64 * 64;
    return piece;
  }
  static size_t Bytes(size_t count, size_t element) { return (count * element + 63) / 64 * 64; }

 private:
  std::byte* at_;
};

template <class Engine, class Source>
class BackwardRun {
 public:
  using Element = typename Engine::Element;

  BackwardRun(const Tensor& query, const AttentionInputs& in, const AttentionGradients& g,
              const AttentionParams& params)
      : query_(query),
        in_(in),
        g_(g),
        params_(params),
        plain_(PlainScores(in, params)),
        group_(query.size(1) / in.key.size(1)),
        size_(static_cast<size_t>(query.size(3))),
        value_size_(static_cast<size_t>(in.value.size(3))),
        q_block_(Engine::PackedSize(kBackwardRows, size_)),
        o_block_(Engine::PackedSize(kBackwardRows, value_size_)) {}

  void Run(const BackwardTask& task) {
    Reserve(*task.span);
    PackQueries(task);
    for (int64_t j = task.first_key; j < task.end_key; j += kBackwardCols) {
      const int64_t cols = std::min(kBackwardCols, task.end_key - j);
      PackKeys(task, j, cols);
      for (int64_t member = 0; member < group_; ++member)
        for (int64_t i = 0; i < task.span->q_count; i += kBackwardRows)
          Step(task, member, i, j, cols);
      StoreKeys(task, j, cols);
    }
  }

 private:
  static int64_t Blocks(const AttentionSpan& span) {
    return (span.q_count + kBackwardRows - 1) / kBackwardRows;
  }

  void Reserve(const AttentionSpan& span) {
    const auto queries = static_cast<size_t>(group_ * span.q_count);
    const auto blocks = static_cast<size_t>(group_ * Blocks(span));
    constexpr size_t kTile = kBackwardRows * kBackwardCols;
    const size_t spare = Engine::SpareSize(kBackwardCols, kBackwardRows);
    const size_t kt = Engine::PackedSize(size_, kBackwardCols);
    const size_t vt = Engine::PackedSize(value_size_, kBackwardCols);
    const size_t k = Engine::PackedSize(kBackwardCols, size_);
    constexpr size_t kElement = sizeof(Element);
    const size_t bytes =
        Carver::Bytes(queries * size_, kElement) + Carver::Bytes(queries * value_size_, kElement) +
        Carver::Bytes(blocks * q_block_, kElement) + Carver::Bytes(blocks * o_block_, kElement) +
        Carver::Bytes(queries, sizeof(float)) + 3 * Carver::Bytes(kTile, sizeof(float)) +
        2 * Carver::Bytes(kTile, kElement) + Carver::Bytes(spare, kElement) +
        Carver::Bytes(kt, kElement) + Carver::Bytes(vt, kElement) + Carver::Bytes(k, kElement) +
        Carver::Bytes(kBackwardCols * (size_ + value_size_), sizeof(float));
    Carver carver(thread_scratch<std::byte>(Scratch::kAttentionGradients, bytes));
    q_rows_ = carver.Take<Element>(queries * size_);
    o_rows_ = carver.Take<Element>(queries * value_size_);
    q_panels_ = carver.Take<Element>(blocks * q_block_);
    o_panels_ = carver.Take<Element>(blocks * o_block_);
    shared_ = carver.Take<float>(queries);
    scores_ = carver.Take<float>(kTile);
    gains_ = carver.Take<float>(kTile);
    raw_ = carver.Take<float>(kTile);
    weights_ = carver.Take<Element>(kTile);
    d_scores_ = carver.Take<Element>(kTile);
    spare_ = carver.Take<Element>(spare);
    k_transposed_ = carver.Take<Element>(kt);
    v_transposed_ = carver.Take<Element>(vt);
    k_panels_ = carver.Take<Element>(k);
    d_keys_ = carver.Take<float>(kBackwardCols * (size_ + value_size_));
    d_values_ = d_keys_ + kBackwardCols * size_;
  }

  // Queries and output gradients of the whole group, as rows and as panels; and what every weight
  // of a row shares: out · dout - dlse.
  void PackQueries(const BackwardTask& task) {
    const AttentionSpan& span = *task.span;
    for (int64_t member = 0; member < group_; ++member) {
      const int64_t head = task.key_head * group_ + member;
      const auto q = HeadOf<Source>(query_, span.batch, head, span.q_begin);
      const auto y = HeadOf<Source>(g_.output, span.batch, head, span.q_begin);
      const auto dy = HeadOf<Source>(g_.d_output, span.batch, head, span.q_begin);
      const int64_t first = member * span.q_count;
      CopyRows(q.data, q.stride, span.q_count, query_.size(3), q_rows_ + first * query_.size(3),
               size_);
      CopyRows(dy.data, dy.stride, span.q_count, in_.value.size(3),
               o_rows_ + first * in_.value.size(3), value_size_);
      for (int64_t i = 0; i < span.q_count; i += kBackwardRows) {
        const auto rows = static_cast<size_t>(std::min(kBackwardRows, span.q_count - i));
        const auto block = static_cast<size_t>(member * Blocks(span) + i / kBackwardRows);
        Engine::Pack(q.row(i), q.stride, 1, rows, size_, q_panels_ + block * q_block_);
        Engine::Pack(dy.row(i), dy.stride, 1, rows, value_size_, o_panels_ + block * o_block_);
      }
      const float* d_lse = g_.d_lse.defined() ? LseOf(g_.d_lse, span, head) : nullptr;
      for (int64_t i = 0; i < span.q_count; ++i)
        shared_[first + i] =
            RowDot(y.row(i), dy.row(i), in_.value.size(3)) - (d_lse != nullptr ? d_lse[i] : 0.0F);
    }
  }

  const float* LseOf(const Tensor& lse, const AttentionSpan& span, int64_t head) const {
    return input<float>(lse) + (span.batch * query_.size(1) + head) * query_.size(2) + span.q_begin;
  }

  void PackKeys(const BackwardTask& task, int64_t j, int64_t cols) {
    const AttentionSpan& span = *task.span;
    const auto n = static_cast<size_t>(cols);
    const auto k = HeadOf<Source>(in_.key, span.batch, task.key_head, span.k_begin + j);
    const auto v = HeadOf<Source>(in_.value, span.batch, task.key_head, span.k_begin + j);
    Engine::Pack(k.data, 1, k.stride, size_, n, k_transposed_);
    Engine::Pack(v.data, 1, v.stride, value_size_, n, v_transposed_);
    Engine::Pack(k.data, k.stride, 1, n, size_, k_panels_);
    std::fill(d_keys_, d_keys_ + n * size_, 0.0F);
    std::fill(d_values_, d_values_ + n * value_size_, 0.0F);
  }

  void Step(const BackwardTask& task, int64_t member, int64_t i, int64_t j, int64_t cols) {
    const AttentionSpan& span = *task.span;
    const int64_t rows = std::min(kBackwardRows, span.q_count - i);
    const KeyRange range = TileKeyRange(span, params_, i, rows);
    if (range.end <= j || range.begin >= j + cols) return;
    const ScoreTile tile{span, task.key_head * group_ + member, i, rows, j, cols};
    const auto m = static_cast<size_t>(rows), n = static_cast<size_t>(cols);
    const auto first = static_cast<size_t>(member * span.q_count + i);
    const auto block = static_cast<size_t>(member * Blocks(span) + i / kBackwardRows);
    Engine::Product(m, n, size_, q_rows_ + first * size_, size_, k_transposed_, scores_,
                    kBackwardCols, false);
    Engine::Product(m, n, value_size_, o_rows_ + first * value_size_, value_size_, v_transposed_,
                    gains_, kBackwardCols, false);
    const float* lse = LseOf(g_.lse, span, tile.head) + i;
    const bool whole = WholeTileAllowed(tile, params_);
    for (int64_t r = 0; r < rows; ++r)
      Row(tile, r, lse[r], shared_[first + static_cast<size_t>(r)], whole);
    Engine::ProductTransposed(n, value_size_, m, weights_, kBackwardCols,
                              o_panels_ + block * o_block_, d_values_, value_size_, spare_);
    Engine::ProductTransposed(n, size_, m, d_scores_, kBackwardCols, q_panels_ + block * q_block_,
                              d_keys_, size_, spare_);
    Engine::Product(m, size_, n, d_scores_, kBackwardCols, k_panels_, task.d_query + first * size_,
                    size_, true);
  }

  // One row of a tile: weights (after dropout) and the gradients of the scores.
  void Row(const ScoreTile& tile, int64_t r, float lse, float shared, bool whole) {
    const hn::ScalableTag<float> d;
    float* s = scores_ + r * kBackwardCols;
    float* g = gains_ + r * kBackwardCols;
    Element* w = weights_ + r * kBackwardCols;
    Element* ds = d_scores_ + r * kBackwardCols;
    if (lse == kMinusInfinity) {
      MapRow(s, w, tile.cols, [&](auto, size_t) HWY_ATTR { return hn::Zero(d); });
      MapRow(s, ds, tile.cols, [&](auto, size_t) HWY_ATTR { return hn::Zero(d); });
      return;
    }
    if (params_.softcap > 0) std::copy(s, s + tile.cols, raw_);
    if (!plain_) FinishRow(tile, in_, params_, r, s);
    if (!whole) ForbidOutside(tile, params_, r, s);
    const auto scale = hn::Set(d, plain_ ? static_cast<float>(params_.scale) * kLog2E : kLog2E);
    const auto shift = hn::Set(d, lse * kLog2E), common = hn::Set(d, shared);
    if (params_.dropout > 0) DropRow(tile, query_, in_.key, params_, r, g);
    MapRow(s, s, tile.cols, [&](auto v, size_t) HWY_ATTR {
      return Exp2OfNonPositive<Element>(d, hn::MulSub(v, scale, shift));
    });
    MapRows(s, g, g, tile.cols,
            [&](auto p, auto v) HWY_ATTR { return hn::Mul(p, hn::Sub(v, common)); });
    if (params_.dropout > 0) DropRow(tile, query_, in_.key, params_, r, s);
    if (g_.d_bias.defined()) AddBiasGradient(tile, r, g);
    if (params_.softcap > 0) ApplyCapSlope(g, tile.cols);
    MapRow(s, w, tile.cols, [](auto v, size_t) HWY_ATTR { return v; });
    MapRow(g, ds, tile.cols, [](auto v, size_t) HWY_ATTR { return v; });
  }

  // d tanh: 1 - (capped / cap)², from the dot products that were kept.
  void ApplyCapSlope(float* g, int64_t cols) {
    const hn::ScalableTag<float> d;
    const auto inner = hn::Set(d, static_cast<float>(params_.scale / params_.softcap));
    MapRows(raw_, g, g, cols, [&](auto v, auto gradient) HWY_ATTR {
      return hn::Mul(gradient, TanhGradient(d, hn::Mul(v, inner)));
    });
  }

  void AddBiasGradient(const ScoreTile& tile, int64_t r, const float* ds) {
    const Tensor& to = g_.d_bias;
    const auto at = [&](int axis, int64_t index) {
      return to.size(axis) == 1 ? 0 : index * to.strides()[axis];
    };
    float* row = output<float>(to) + at(0, tile.span.batch) + at(1, tile.head) +
                 at(2, tile.span.q_begin + tile.i + r);
    if (to.size(3) == 1) {
      const hn::ScalableTag<float> d;
      auto sum = hn::Zero(d);
      ReadRow(ds, tile.cols, [&](auto v, size_t) HWY_ATTR { sum = hn::Add(sum, v); });
      *row += SumLanes(d, sum);
      return;
    }
    row += tile.span.k_begin + tile.j;
    MapRows(row, ds, row, tile.cols, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
  }

  void StoreKeys(const BackwardTask& task, int64_t j, int64_t cols) {
    const hn::ScalableTag<float> d;
    const auto scale = hn::Set(d, static_cast<float>(params_.scale));
    const AttentionSpan& span = *task.span;
    const auto dk = HeadOf<Source>(g_.d_key, span.batch, task.key_head, span.k_begin + j);
    const auto dv = HeadOf<Source>(g_.d_value, span.batch, task.key_head, span.k_begin + j);
    for (int64_t r = 0; r < cols; ++r) {
      MapRow(d_keys_ + static_cast<size_t>(r) * size_, dk.row(r), query_.size(3),
             [&](auto v, size_t) HWY_ATTR { return hn::Mul(v, scale); });
      MapRow(d_values_ + static_cast<size_t>(r) * value_size_, dv.row(r), in_.value.size(3),
             [](auto v, size_t) HWY_ATTR { return v; });
    }
  }

  const Tensor& query_;
  const AttentionInputs& in_;
  const AttentionGradients& g_;
  const AttentionParams& params_;
  const bool plain_;
  const int64_t group_;
  const size_t size_, value_size_, q_block_, o_block_;

  Element *q_rows_, *o_rows_, *q_panels_, *o_panels_;           // queries and output gradients
  Element *k_transposed_, *v_transposed_, *k_panels_, *spare_;  // of the current keys
  Element *weights_, *d_scores_;                                // of the current tile
  float *scores_, *gains_, *raw_;                               // the same, in float32
  float *shared_, *d_keys_, *d_values_;
};

// dq = scale times the sum of the tasks' shares, in their order.
template <class Source>
void AddQueryGradients(const Tensor& query, const AttentionInputs& in, const AttentionGradients& g,
                       const AttentionParams& params, const std::vector<BackwardTask>& tasks,
                       int64_t runs) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, static_cast<float>(params.scale));
  const int64_t group = query.size(1) / in.key.size(1), size = query.size(3);
  parallel_tasks(static_cast<int64_t>(tasks.size()) / runs, [&](int64_t number) HWY_ATTR {
    const BackwardTask& first = tasks[static_cast<size_t>(number * runs)];
    const AttentionSpan& span = *first.span;
    for (int64_t run = 1; run < runs; ++run) {
      const float* share = tasks[static_cast<size_t>(number * runs + run)].d_query;
      MapRows(first.d_query, share, first.d_query, group * span.q_count * size,
              [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    }
    for (int64_t member = 0; member < group; ++member) {
      const auto dq =
          HeadOf<Source>(g.d_query, span.batch, first.key_head * group + member, span.q_begin);
      for (int64_t i = 0; i < span.q_count; ++i)
        MapRow(first.d_query + (member * span.q_count + i) * size, dq.row(i), size,
               [&](auto v, size_t) HWY_ATTR { return hn::Mul(v, scale); });
    }
  });
}

template <class Engine, class Source>
void Backward(const Tensor& query, const AttentionInputs& in, const AttentionGradients& g,
              const AttentionParams& params, const std::vector<BackwardTask>& tasks, int64_t runs,
              const std::vector<std::vector<size_t>>& jobs) {
  parallel_tasks(static_cast<int64_t>(jobs.size()), [&](int64_t job) HWY_ATTR {
    [[maybe_unused]] const typename Engine::Scope scope;
    BackwardRun<Engine, Source> run(query, in, g, params);
    for (size_t task : jobs[static_cast<size_t>(job)]) run.Run(tasks[task]);
  });
  AddQueryGradients<Source>(query, in, g, params, tasks, runs);
}

void AttentionBackward(const Tensor& query, const AttentionInputs& in, const AttentionGradients& g,
                       const AttentionParams& params, const std::vector<BackwardTask>& tasks,
                       int64_t runs, const std::vector<std::vector<size_t>>& jobs) {
  if (query.dtype() == DType::kFloat32)
    return Backward<Float32Engine, float>(query, in, g, params, tasks, runs, jobs);
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if (amx_bf16_usable())
    return Backward<AmxEngine, hwy::bfloat16_t>(query, in, g, params, tasks, runs, jobs);
#endif
  Backward<Float32Engine, hwy::bfloat16_t>(query, in, g, params, tasks, runs, jobs);
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <map>
#include <tuple>

#include "kernels/cpu/register.h"

namespace glassformer::cpu {
namespace {

HWY_EXPORT(AttentionBackward);

// Enough tasks to keep many threads busy where there are few heads; the sizes alone decide.
int64_t runs_for(const Tensor& query, const AttentionInputs& in, const AttentionGradients& g,
                 const std::vector<AttentionSpan>& spans) {
  constexpr int64_t kTasksWanted = 16, kFewestKeys = 512;
  if (g.d_bias.defined() && g.d_bias.size(3) == 1) return 1;
  int64_t longest = 0;
  for (const AttentionSpan& span : spans) longest = std::max(longest, span.k_count);
  const int64_t heads = std::max<int64_t>(in.key.size(1) * query.size(0), 1);
  return std::clamp<int64_t>(kTasksWanted / heads, 1, std::max<int64_t>(longest / kFewestKeys, 1));
}

// Tasks that add to the same elements of the bias gradient run one after the other.
std::vector<std::vector<size_t>> jobs_for(const std::vector<BackwardTask>& tasks,
                                          const Tensor& d_bias) {
  std::vector<std::vector<size_t>> jobs;
  std::map<std::tuple<int64_t, int64_t>, size_t> known;
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (!d_bias.defined()) {
      jobs.push_back({t});
      continue;
    }
    const std::tuple key{d_bias.size(0) == 1 ? 0 : tasks[t].span->batch,
                         d_bias.size(1) == 1 ? 0 : tasks[t].key_head};
    const auto [at, fresh] = known.try_emplace(key, jobs.size());
    if (fresh) jobs.emplace_back();
    jobs[at->second].push_back(t);
  }
  return jobs;
}

// Keys that no span holds (padding) have no gradient.
void zero_padding(const Tensor& gradient, const std::vector<AttentionSpan>& spans) {
  for (const AttentionSpan& span : spans)
    for (int64_t h = 0; h < gradient.size(1); ++h)
      for (int64_t t = span.k_begin + span.k_count; t < gradient.size(2); ++t) {
        const int64_t at = span.batch * gradient.strides()[0] + h * gradient.strides()[1] +
                           t * gradient.strides()[2];
        std::memset(gradient.storage()->data() +
                        static_cast<size_t>(gradient.offset() + at) * size_of(gradient.dtype()),
                    0, static_cast<size_t>(gradient.size(3)) * size_of(gradient.dtype()));
      }
}

void attention_backward(const Tensor& query, const AttentionInputs& in, const AttentionGradients& g,
                        const AttentionParams& params) {
  const std::vector<AttentionSpan> spans = attention_spans(query, in);
  if (g.d_bias.defined()) std::fill_n(output<float>(g.d_bias), g.d_bias.count(), 0.0F);
  if (in.key_lengths.defined()) {
    zero_padding(g.d_key, spans);
    zero_padding(g.d_value, spans);
  }
  const int64_t runs = runs_for(query, in, g, spans);
  const int64_t group = in.key.size(1) == 0 ? 0 : query.size(1) / in.key.size(1);
  std::vector<BackwardTask> tasks;
  size_t floats = 0;
  for (const AttentionSpan& span : spans)
    for (int64_t head = 0; head < in.key.size(1); ++head)
      for (int64_t run = 0; run < runs; ++run) {
        const int64_t step = (span.k_count + runs - 1) / runs;
        tasks.push_back({&span, head, std::min(span.k_count, run * step),
                         std::min(span.k_count, (run + 1) * step), nullptr});
        floats += static_cast<size_t>(group * span.q_count * query.size(3));
      }
  const auto memory = Storage::allocate(Device::kCpu, floats * sizeof(float));
  auto* at = reinterpret_cast<float*>(memory->data());
  parallel_ranges(static_cast<int64_t>(floats), 1 << 15,
                  [&](int64_t begin, int64_t end) { std::fill(at + begin, at + end, 0.0F); });
  for (BackwardTask& task : tasks) {
    task.d_query = at;
    at += group * task.span->q_count * query.size(3);
  }
  HWY_DYNAMIC_DISPATCH(AttentionBackward)
  (query, in, g, params, tasks, runs, jobs_for(tasks, g.d_bias));
}

}  // namespace

void register_attention_backward() {
  for (DType dtype : {DType::kFloat32, DType::kBFloat16})
    add_kernel(kAttentionBackward, Device::kCpu, dtype, attention_backward);
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
