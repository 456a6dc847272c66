#include "kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_backward.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "base/cpu_info.h"
#include "base/parallel.h"
#include "kernels/cpu/attention-inl.h"
#include "kernels/cpu/scratch.h"

// The weights are formed again, tile by tile, from the saved log-sum-exp. Five products a tile, its
// queries in the lanes (attention-inl.h):
//   Sᵀ = K Qᵀ, Gᵀ = V dOᵀ, dQᵀ += Kᵀ dSᵀ, dV += Wᵀ dO, dK += dSᵀ Q.
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
  float* d_query;  // [group][panels of queries][size][lanes of a panel], zero at the start
};

// Floats of a task's d_query, for panels of any engine.
inline size_t query_gradient_floats(const AttentionSpan& span, int64_t group, int64_t size) {
  constexpr int64_t kWidest = 64, kLanesMost = 16;
  const auto up = [](int64_t n, int64_t to) { return (n + to - 1) / to * to; };
  return static_cast<size_t>(group * up(span.q_count, kWidest) * up(size, kLanesMost));
}

}  // namespace glassformer::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Keys of a tile.
constexpr int64_t kBackwardKeys = 128;

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
  static constexpr int64_t kCols = Engine::kCols;
  // Queries of a tile: the panels that one product of dV and dK takes.
  static constexpr int64_t kQueries = Engine::kFactorPanels * kCols;

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
        q_panel_(Engine::PanelSize(size_)),
        o_panel_(Engine::PanelSize(value_size_)),
        q_factor_(Engine::FactorSize(kQueries, size_)),
        o_factor_(Engine::FactorSize(kQueries, value_size_)) {}

  void Run(const BackwardTask& task) {
    Reserve(*task.span);
    PackQueries(task);
    for (int64_t j = task.first_key; j < task.end_key; j += kBackwardKeys) {
      const int64_t keys = std::min(kBackwardKeys, task.end_key - j);
      PackKeys(task, j, keys);
      for (int64_t member = 0; member < group_; ++member)
        for (int64_t i = 0; i < task.span->q_count; i += kQueries) Step(task, member, i, j, keys);
      StoreKeys(task, j, keys);
    }
  }

  // A panel's sums of dQᵀ: [size][kCols], whole vectors of size.
  static int64_t PanelSums(int64_t size) {
    constexpr auto kStep = static_cast<int64_t>(kLanes);
    return (size + kStep - 1) / kStep * kStep * kCols;
  }
  static int64_t Panels(const AttentionSpan& span) { return (span.q_count + kCols - 1) / kCols; }

 private:
  static int64_t Blocks(const AttentionSpan& span) {
    return (span.q_count + kQueries - 1) / kQueries;
  }

  void Reserve(const AttentionSpan& span) {
    const auto panels = static_cast<size_t>(group_ * Panels(span));
    const auto blocks = static_cast<size_t>(group_ * Blocks(span));
    constexpr size_t kPanel = kBackwardKeys * kCols, kTile = kBackwardKeys * kQueries;
    const auto carve = [&](auto&& take) {
      take(q_panels_, panels * q_panel_);
      take(o_panels_, panels * o_panel_);
      take(q_factors_, blocks * q_factor_);
      take(o_factors_, blocks * o_factor_);
      take(shared_, panels * kCols);
      take(lse_, panels * kCols);
      take(scores_, kTile);
      take(gains_, kTile);
      take(raw_, kPanel);
      take(rows_, kPanel);
      take(spare_, kTile);
      take(k_rows_, kBackwardKeys * size_);
      take(v_rows_, kBackwardKeys * value_size_);
      take(k_values_, Engine::ValuesSize(kBackwardKeys, size_));
      take(d_keys_, kBackwardKeys * size_);
      take(d_values_, kBackwardKeys * value_size_);
    };
    size_t bytes = 0;
    carve([&](auto*& piece, size_t count) { bytes += Carver::Bytes(count, sizeof(*piece)); });
    Carver carver(thread_scratch<std::byte>(Scratch::kAttentionGradients, bytes));
    carve([&](auto*& piece, size_t count) {
      piece = carver.Take<std::remove_reference_t<decltype(*piece)>>(count);
    });
  }

  // Queries and output gradients of the whole group, as panels and as factors; and what every
  // weight of a query shares: out · dout - dlse, and the log-sum-exp in powers of two. Lanes
  // without a query, and queries that see nothing, have an infinite one: weights of 0.
  void PackQueries(const BackwardTask& task) {
    const AttentionSpan& span = *task.span;
    for (int64_t member = 0; member < group_; ++member) {
      const int64_t head = task.key_head * group_ + member;
      const auto q = HeadOf<Source>(query_, span.batch, head, span.q_begin);
      const auto y = HeadOf<Source>(g_.output, span.batch, head, span.q_begin);
      const auto dy = HeadOf<Source>(g_.d_output, span.batch, head, span.q_begin);
      for (int64_t i = 0; i < span.q_count; i += kCols) {
        const auto rows = static_cast<size_t>(std::min(kCols, span.q_count - i));
        const auto panel = static_cast<size_t>(member * Panels(span) + i / kCols);
        Engine::PackQueries(q.row(i), q.stride, rows, size_, q_panels_ + panel * q_panel_);
        Engine::PackQueries(dy.row(i), dy.stride, rows, value_size_, o_panels_ + panel * o_panel_);
      }
      for (int64_t i = 0; i < span.q_count; i += kQueries) {
        const auto rows = static_cast<size_t>(std::min(kQueries, span.q_count - i));
        const auto block = static_cast<size_t>(member * Blocks(span) + i / kQueries);
        Engine::PackFactor(q.row(i), q.stride, rows, size_, q_factors_ + block * q_factor_);
        Engine::PackFactor(dy.row(i), dy.stride, rows, value_size_, o_factors_ + block * o_factor_);
      }
      const float* lse = LseOf(g_.lse, span, head);
      const float* d_lse = g_.d_lse.defined() ? LseOf(g_.d_lse, span, head) : nullptr;
      const int64_t first = member * Panels(span) * kCols;
      const auto width = static_cast<int64_t>(value_size_);
      for (int64_t i = 0; i < Panels(span) * kCols; ++i) {
        const bool seen = i < span.q_count && lse[i] != kMinusInfinity;
        lse_[first + i] = seen ? lse[i] * kLog2E : -kMinusInfinity;
        shared_[first + i] =
            seen ? RowDot(y.row(i), dy.row(i), width) - (d_lse != nullptr ? d_lse[i] : 0.0F) : 0.0F;
      }
    }
  }

  const float* LseOf(const Tensor& lse, const AttentionSpan& span, int64_t head) const {
    return input<float>(lse) + (span.batch * query_.size(1) + head) * query_.size(2) + span.q_begin;
  }

  void PackKeys(const BackwardTask& task, int64_t j, int64_t keys) {
    const AttentionSpan& span = *task.span;
    const auto k = HeadOf<Source>(in_.key, span.batch, task.key_head, span.k_begin + j);
    const auto v = HeadOf<Source>(in_.value, span.batch, task.key_head, span.k_begin + j);
    CopyRows(k.data, k.stride, keys, in_.key.size(3), k_rows_, size_);
    CopyRows(v.data, v.stride, keys, in_.value.size(3), v_rows_, value_size_);
    Engine::PackValues(k.data, k.stride, keys, in_.key.size(3), k_values_);
    std::fill_n(d_keys_, static_cast<size_t>(keys) * size_, 0.0F);
    std::fill_n(d_values_, static_cast<size_t>(keys) * value_size_, 0.0F);
  }

  void Step(const BackwardTask& task, int64_t member, int64_t i, int64_t j, int64_t keys) {
    const AttentionSpan& span = *task.span;
    const int64_t queries = std::min(kQueries, span.q_count - i);
    const KeyRange range = TileKeyRange(span, params_, i, queries);
    if (range.end <= j || range.begin >= j + keys) return;
    keys = std::min(keys, range.end - j);  // those beyond the diagonal are none of this tile's
    const auto m = static_cast<size_t>(keys), depth = static_cast<size_t>(queries);
    size_t panels = 0, seen[Engine::kFactorPanels];
    for (int64_t p = 0; p < queries; p += kCols, ++panels) {
      const auto panel = static_cast<size_t>(member * Panels(span) + (i + p) / kCols);
      float* s = scores_ + panels * m * kCols;
      float* g = gains_ + panels * m * kCols;
      const int64_t rows = std::min(kCols, queries - p);
      const auto used = static_cast<size_t>(rows);
      const int64_t own =
          std::clamp<int64_t>(TileKeyRange(span, params_, i + p, rows).end - j, 0, keys);
      const size_t n = seen[panels] = static_cast<size_t>(own);
      std::fill(s + n * kCols, s + m * kCols, 0.0F);
      std::fill(g + n * kCols, g + m * kCols, 0.0F);
      if (n == 0) continue;
      Engine::Scores(n, used, size_, k_rows_, size_, q_panels_ + panel * q_panel_, s);
      Engine::Scores(n, used, value_size_, v_rows_, value_size_, o_panels_ + panel * o_panel_, g);
      Differentiate({span, task.key_head * group_ + member, i + p, rows, j, own}, panel, s, g);
      Engine::AddValues(size_, used, n, k_values_, Engine::ValuesPitch(KeysPacked(task, j), size_),
                        g, spare_,
                        task.d_query + static_cast<int64_t>(panel) * PanelSums(query_.size(3)));
    }
    const auto block = static_cast<size_t>(member * Blocks(span) + i / kQueries);
    Engine::AddFactor(m, value_size_, depth, seen, Engine::Factor(m, panels, scores_, spare_),
                      o_factors_ + block * o_factor_, d_values_);
    Engine::AddFactor(m, size_, depth, seen, Engine::Factor(m, panels, gains_, spare_),
                      q_factors_ + block * q_factor_, d_keys_);
  }

  static size_t KeysPacked(const BackwardTask& task, int64_t j) {
    return static_cast<size_t>(std::min(kBackwardKeys, task.end_key - j));
  }

  // A panel of scores into weights (after dropout), and of dO Vᵀ into the gradients of the scores.
  void Differentiate(const ScoreTile& tile, size_t panel, float* s, float* g) {
    const hn::ScalableTag<float> d;
    const auto in_rows = [&](float* x, auto&& f)
                             HWY_ATTR { InRows<kCols>(tile, x, rows_, kBackwardKeys, f); };
    const auto drop = [&](int64_t r, float* row)
                          HWY_ATTR { DropRow(tile, query_, in_.key, params_, r, row); };
    const auto count = static_cast<size_t>(tile.cols) * kCols;
    if (params_.softcap > 0) std::copy(s, s + count, raw_);
    if (!plain_)
      in_rows(s, [&](int64_t r, float* row) HWY_ATTR { FinishRow(tile, in_, params_, r, row); });
    if (!WholeTileAllowed(tile, params_)) ForbidOutsideLanes<kCols>(tile, params_, s);
    if (params_.dropout > 0) in_rows(g, drop);
    const auto scale = hn::Set(d, plain_ ? static_cast<float>(params_.scale) * kLog2E : kLog2E);
    for (size_t v = 0; v < static_cast<size_t>(tile.rows); v += kLanes) {
      const auto shift = hn::Load(d, lse_ + panel * kCols + v);
      const auto common = hn::Load(d, shared_ + panel * kCols + v);
      for (size_t at = v; at < count; at += kCols) {
        const auto w = Exp2<Element>(d, hn::MulSub(hn::Load(d, s + at), scale, shift));
        hn::Store(w, d, s + at);
        hn::Store(hn::Mul(w, hn::Sub(hn::Load(d, g + at), common)), d, g + at);
      }
    }
    if (params_.dropout > 0) in_rows(s, drop);
    if (g_.d_bias.defined())
      in_rows(g, [&](int64_t r, float* row) HWY_ATTR { AddBiasGradient(tile, r, row); });
    if (params_.softcap > 0) ApplyCapSlope(g, static_cast<int64_t>(count));
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
    const auto width = static_cast<int64_t>(size_), value_width = static_cast<int64_t>(value_size_);
    for (int64_t r = 0; r < cols; ++r) {
      MapRow(d_keys_ + r * width, dk.row(r), width,
             [&](auto v, size_t) HWY_ATTR { return hn::Mul(v, scale); });
      MapRow(d_values_ + r * value_width, dv.row(r), value_width,
             [](auto v, size_t) HWY_ATTR { return v; });
    }
  }

  const Tensor& query_;
  const AttentionInputs& in_;
  const AttentionGradients& g_;
  const AttentionParams& params_;
  const bool plain_;
  const int64_t group_;
  const size_t size_, value_size_, q_panel_, o_panel_, q_factor_, o_factor_;

  Element *q_panels_, *o_panels_, *q_factors_, *o_factors_;  // queries and output gradients
  Element *k_rows_, *v_rows_, *k_values_, *spare_;           // of the current keys
  float *scores_, *gains_;                                   // of the current tile, [panel][keys]
  float *raw_, *rows_;                                       // of the current panel
  float *shared_, *lse_, *d_keys_, *d_values_;
};

// dq = scale times the sum of the tasks' shares, in their order.
template <class Run, class Source>
void AddQueryGradients(const Tensor& query, const AttentionInputs& in, const AttentionGradients& g,
                       const AttentionParams& params, const std::vector<BackwardTask>& tasks,
                       int64_t runs) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, static_cast<float>(params.scale));
  const int64_t group = query.size(1) / in.key.size(1), size = query.size(3);
  const int64_t sums = Run::PanelSums(size), row = sums / Run::kCols;
  parallel_tasks(static_cast<int64_t>(tasks.size()) / runs, [&](int64_t number) HWY_ATTR {
    const BackwardTask& first = tasks[static_cast<size_t>(number * runs)];
    const AttentionSpan& span = *first.span;
    float* rows = thread_scratch<float>(Scratch::kAttentionScores, static_cast<size_t>(sums));
    for (int64_t panel = 0; panel < group * Run::Panels(span); ++panel) {
      float* total = first.d_query + panel * sums;
      for (int64_t run = 1; run < runs; ++run) {
        const float* share = tasks[static_cast<size_t>(number * runs + run)].d_query;
        MapRows(total, share + panel * sums, total, sums,
                [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
      }
      TransposeTile(total, Run::kCols, row, Run::kCols, rows, row);
      const int64_t member = panel / Run::Panels(span);
      const int64_t i = panel % Run::Panels(span) * Run::kCols;
      const auto dq =
          HeadOf<Source>(g.d_query, span.batch, first.key_head * group + member, span.q_begin + i);
      for (int64_t r = 0; r < std::min<int64_t>(Run::kCols, span.q_count - i); ++r)
        MapRow(rows + r * row, dq.row(r), size,
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
  AddQueryGradients<BackwardRun<Engine, Source>, Source>(query, in, g, params, tasks, runs);
}

void AttentionBackward(const Tensor& query, const AttentionInputs& in, const AttentionGradients& g,
                       const AttentionParams& params, const std::vector<BackwardTask>& tasks,
                       int64_t runs, const std::vector<std::vector<size_t>>& jobs) {
  if (query.dtype() == DType::kFloat32)
    return Backward<Float32Panels<kWide>, float>(query, in, g, params, tasks, runs, jobs);
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if (bf16_products_usable())
    return Backward<Bf16Panels, hwy::bfloat16_t>(query, in, g, params, tasks, runs, jobs);
#endif
  Backward<Float32Panels<kWide>, hwy::bfloat16_t>(query, in, g, params, tasks, runs, jobs);
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
        floats += query_gradient_floats(span, group, query.size(3));
      }
  const auto memory = Storage::allocate(Device::kCpu, floats * sizeof(float));
  auto* at = reinterpret_cast<float*>(memory->data());
  parallel_ranges(static_cast<int64_t>(floats), 1 << 15,
                  [&](int64_t begin, int64_t end) { std::fill(at + begin, at + end, 0.0F); });
  for (BackwardTask& task : tasks) {
    task.d_query = at;
    at += query_gradient_floats(*task.span, group, query.size(3));
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
