#include "nn/attention_steps.h"

#include <cmath>
#include <limits>

#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/activation.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/create.h"
#include "glassformer/ops/dropout.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/linear.h"
#include "glassformer/ops/pointwise.h"
#include "glassformer/ops/relative_positions.h"
#include "glassformer/ops/softmax.h"
#include "glassformer/ops/view.h"
#include "nn/probing.h"

namespace glassformer {
namespace {

constexpr const char* kSteps[] = {"scores", "scaled_scores", "masked_scores", "weights"};

// Tensors of up to four axes as [batch, heads, queries, keys].
Tensor with_four_axes(Tensor x) {
  while (x.rank() < 4) x = unsqueeze(x, 0);
  return x;
}

// The equations one at a time, for the heads and queries of a wish, in float32 (float64 stays).
class Steps {
 public:
  Steps(const Tensor& query, const Tensor& key, const AttentionOptions& options,
        const ProbeWish& wish)
      : query_(query), key_(key), options_(options), wish_(wish) {}

  Tensor scores() const {
    const Tensor query = asked_for(wish_, dense(query_));
    const Tensor key = selected(grouped(dense(key_)), 1, wish_.heads);
    return matmul(query, transpose(key, -1, -2));
  }

  Tensor scaled(const Tensor& scores) const {
    const double size = static_cast<double>(query_.size(-1));
    return scores * options_.scale.value_or(1 / std::sqrt(size));
  }

  // Also caps and adds the biases.
  Tensor masked(const Tensor& scaled) const {
    Tensor x = scaled;
    if (options_.softcap > 0)
      x = activate(x / options_.softcap, Activation::kTanh) * options_.softcap;
    for (const Tensor& added : {options_.bias, options_.mask}) {
      if (!added.defined() || added.dtype() == DType::kBool) continue;
      x = x + cast(asked_for(wish_, with_four_axes(added)), x.dtype());
    }
    if (options_.alibi_slopes.defined()) x = x + alibi(x.dtype());
    const double out = -std::numeric_limits<double>::infinity();
    return where(allowed(), x, full({1}, out, x.options()));
  }

  // Where a query may look. Asked of the kernel itself: with scores of zero and no biases its
  // weights are exp(0) = 1 there, and 0 elsewhere.
  Tensor allowed() const {
    const NoGrad no_grad;
    AttentionOptions masks = options_;
    masks.bias = masks.alibi_slopes = {};
    masks.softcap = masks.dropout = 0;
    if (masks.mask.defined() && masks.mask.dtype() != DType::kBool) masks.mask = {};
    const Tensor none = zeros_like(query_);
    const Tensor query = dense(query_);
    const Tensor zero = zeros({query.size(0), query.size(1), query.size(2)}, query.options());
    return cast(attention_weights(none, key_, zero, masks, wish_.heads, wish_.rows), DType::kBool);
  }

  // [batch, heads, length, size], also of packed rows, in the dtype that steps are computed in.
  static Tensor dense(const Tensor& x) {
    const Tensor four = x.rank() == 4 ? x : unsqueeze(transpose(x, 0, 1), 0);
    return cast(four, x.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32);
  }

  // Each key head as often as queries share it.
  Tensor grouped(const Tensor& x) const {
    const int64_t heads = query_.size(1), key_heads = x.size(1);
    if (heads == key_heads) return x;
    const int64_t b = x.size(0), t = x.size(2), d = x.size(3);
    return reshape(expand(unsqueeze(x, 2), {b, key_heads, heads / key_heads, t, d}),
                   {b, heads, t, d});
  }

 private:
  // [heads, queries, keys], of what is asked for alone.
  Tensor alibi(DType dtype) const {
    const int64_t queries = dense(query_).size(2), keys = dense(key_).size(2);
    const Tensor slopes = selected(cast(options_.alibi_slopes, dtype), 0, wish_.heads);
    if (wish_.rows.empty()) return alibi_bias(slopes, queries, keys, keys - queries);
    std::vector<Tensor> rows;
    for (const int64_t row : wish_.rows)
      rows.push_back(alibi_bias(slopes, 1, keys, keys - queries + row));
    return concatenate(rows, 1);
  }

  const Tensor& query_;
  const Tensor& key_;
  const AttentionOptions& options_;
  const ProbeWish& wish_;
};

// What the fused kernel did not keep, computed beside it for the heads and rows asked for.
void read_steps(Probe& probe, const std::string& place, const Tensor& query, const Tensor& key,
                const Tensor& log_sum_exp, const AttentionOptions& options) {
  const NoGrad no_grad;
  for (int step = 0; step < 4; ++step) {
    const std::string name = step_name(place, kSteps[step]);
    const ProbeWish wish = probe.wish(name);
    if (wish.kind != ProbeWish::Kind::kRead) continue;
    if (step == 3) {
      probe.read(name, attention_weights(query, key, log_sum_exp, options, wish.heads, wish.rows));
      continue;
    }
    const Steps steps(query, key, options, wish);
    Tensor x = steps.scores();
    if (step >= 1) x = steps.scaled(x);
    if (step >= 2) x = steps.masked(x);
    probe.read(name, x);
  }
}

// One of the steps, whole, on its way through the probe; who reads it is given what was asked for.
Tensor passed(Probe& probe, const std::string& place, const char* step, const Tensor& whole) {
  const std::string name = step_name(place, step);
  const ProbeWish wish = probe.wish(name);
  if (wish.kind == ProbeWish::Kind::kReplace) return replaced(probe, name, whole);
  if (wish.kind == ProbeWish::Kind::kRead) probe.read(name, asked_for(wish, whole));
  return whole;
}

Tensor attend_step_by_step(Probe& probe, const std::string& place, const Tensor& query,
                           const Tensor& key, const Tensor& value,
                           const AttentionOptions& options) {
  const ProbeWish everything;
  const Steps steps(query, key, options, everything);
  const Tensor scores = passed(probe, place, kSteps[0], steps.scores());
  const Tensor scaled = passed(probe, place, kSteps[1], steps.scaled(scores));
  const Tensor masked = passed(probe, place, kSteps[2], steps.masked(scaled));
  // Rows with nothing to attend to are 0/0 in the softmax, and zeros in the result.
  const Tensor zero = zeros({1}, masked.options());
  Tensor weights = where(steps.allowed(), softmax(masked), zero);
  weights = passed(probe, place, kSteps[3], weights);
  if (options.dropout > 0) weights = dropout(weights, options.dropout, options.random);
  const Tensor heads = cast(matmul(weights, steps.grouped(Steps::dense(value))), value.dtype());
  return query.rank() == 4 ? heads : transpose(squeeze(heads, 0), 0, 1);
}

}  // namespace

Tensor attend(const Context& context, const std::string& place, const Tensor& query,
              const Tensor& key, const Tensor& value, const AttentionOptions& options,
              const FusedAttention& fused) {
  bool reads = false;
  if (context.probe != nullptr) {
    for (const char* step : kSteps) {
      const ProbeWish::Kind wish = context.probe->wish(step_name(place, step)).kind;
      if (wish == ProbeWish::Kind::kReplace)
        return attend_step_by_step(*context.probe, place, query, key, value, options);
      reads = reads || wish == ProbeWish::Kind::kRead;
    }
  }
  const AttentionResult result = fused ? fused() : attention(query, key, value, options);
  if (reads) read_steps(*context.probe, place, query, key, result.log_sum_exp, options);
  return result.output;
}

}  // namespace glassformer
