#include "glassformer/ops/attention.h"

#include <cmath>
#include <numeric>

#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/create.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"
#include "kernels/attention.h"
#include "ops/common.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

constexpr const char* kOp = "attention";

DType accumulator_of(DType dtype) {
  return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

// Kernels step along heads and rows by any stride, but read the last axis in one piece.
Tensor with_contiguous_rows(const Tensor& x) {
  return x.strides()[3] == 1 || x.size(3) <= 1 ? x : contiguous(x);
}

// [T, H, D] as [1, H, T, D].
Tensor unpacked(const Tensor& x) { return unsqueeze(transpose(x, 0, 1), 0); }

// A new [B, H, T, D] whose heads lie next to each other, so that merging them is a view.
Tensor empty_heads_inside(int64_t batch, int64_t heads, int64_t length, int64_t size,
                          TensorOptions options) {
  return transpose(empty({batch, length, heads, size}, options), 1, 2);
}

void check_operands(const Tensor& query, const Tensor& key, const Tensor& value) {
  check_same_device(kOp, {{"query", query}, {"key", key}, {"value", value}});
  check_same_dtype(kOp, {{"query", query}, {"key", key}, {"value", value}});
  check_floating(kOp, "query", query);
  check_rank(kOp, "query", query, 4);
  check_rank(kOp, "key", key, 4);
  const int64_t batch = query.size(0), heads = query.size(1), key_heads = key.size(1);
  check_shape(kOp, "key", key, {batch, key_heads, key.size(2), query.size(3)});
  if (value.defined()) {
    check_rank(kOp, "value", value, 4);
    check_shape(kOp, "value", value, {batch, key_heads, key.size(2), value.size(3)});
  }
  require<ShapeError>(key_heads > 0 ? heads % key_heads == 0 : heads == 0,
                      "attention: expected heads of query ({}) to be a multiple of heads of key, "
                      "found {}",
                      heads, key_heads);
}

Tensor lengths_argument(const char* name, const Tensor& x, const Tensor& query, int64_t count) {
  if (!x.defined()) return x;
  check_index_type(kOp, name, x);
  check_same_device(kOp, {{"query", query}, {name, x}});
  check_shape(kOp, name, x, {count});
  return contiguous(cast(x, DType::kInt64));
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 1; i <= from.rank(); ++i) {
    const int64_t size = from[from.rank() - i];
    if (size != 1 && size != to[to.rank() - i]) return false;
  }
  return true;
}

// Checked against [B, H, Tq, Tk] and given rank 4.
Tensor to_rank_four(const char* name, const Tensor& x, const Tensor& query, const Shape& scores) {
  check_same_device(kOp, {{"query", query}, {name, x}});
  require<ShapeError>(broadcasts_to(x.shape(), scores),
                      "attention: expected {} of a shape that broadcasts to {}, found {}", name,
                      scores, x.shape());
  Tensor y = x;
  while (y.rank() < 4) y = unsqueeze(y, 0);
  return y;
}

// A call as kernels take it, and the bias as autograd sees it.
struct Prepared {
  Tensor query;
  AttentionInputs in;
  AttentionParams params;
  Tensor bias;  // rank 4, accumulator dtype, before expansion; on the tape
};

void prepare_bias(Prepared& call, const AttentionOptions& options, const Shape& scores) {
  const DType accumulator = accumulator_of(call.query.dtype());
  if (options.mask.defined()) {
    const Tensor mask = to_rank_four("mask", options.mask, call.query, scores);
    if (mask.dtype() == DType::kBool) {
      call.in.mask = expand(mask, scores);
    } else {
      check_floating(kOp, "mask", mask);
      call.bias = cast(mask.detach(), accumulator);
    }
  }
  if (options.bias.defined()) {
    check_floating(kOp, "bias", options.bias);
    const Tensor bias = cast(to_rank_four("bias", options.bias, call.query, scores), accumulator);
    call.bias = call.bias.defined() ? add(call.bias, bias) : bias;
  }
  if (call.bias.defined()) call.in.bias = expand(call.bias.detach(), scores);
}

void prepare_places(Prepared& call, const AttentionOptions& options) {
  const Tensor& query = call.query;
  AttentionInputs& in = call.in;
  require<ValueError>(options.query_starts.defined() == options.key_starts.defined(),
                      "attention: expected query_starts and key_starts together, found one");
  if (options.query_starts.defined()) {
    require<ValueError>(!options.key_lengths.defined() && !options.query_offsets.defined(),
                        "attention: expected no key_lengths or query_offsets with packed "
                        "sequences, found some");
    check_rank(kOp, "query_starts", options.query_starts, 1);
    const int64_t count = options.query_starts.count();
    require<ShapeError>(count >= 1, "attention: expected query_starts of at least 1 element");
    in.query_starts = lengths_argument("query_starts", options.query_starts, query, count);
    in.key_starts = lengths_argument("key_starts", options.key_starts, query, count);
  }
  in.key_lengths = lengths_argument("key_lengths", options.key_lengths, query, query.size(0));
  in.query_offsets = lengths_argument("query_offsets", options.query_offsets, query, query.size(0));
  if (options.alibi_slopes.defined()) {
    check_floating(kOp, "alibi_slopes", options.alibi_slopes);
    check_same_device(kOp, {{"query", query}, {"alibi_slopes", options.alibi_slopes}});
    check_shape(kOp, "alibi_slopes", options.alibi_slopes, {query.size(1)});
    in.slopes = contiguous(cast(options.alibi_slopes.detach(), accumulator_of(query.dtype())));
  }
}

Prepared prepare(const Tensor& query, const Tensor& key, const Tensor& value,
                 const AttentionOptions& options) {
  check_operands(query, key, value);
  require<ValueError>(options.dropout >= 0 && options.dropout < 1,
                      "attention: expected dropout in [0, 1), found {}", options.dropout);
  require<ValueError>(options.softcap >= 0 && std::isfinite(options.softcap),
                      "attention: expected a softcap of at least 0, found {}", options.softcap);
  require<ValueError>(options.window_left >= -1 && options.window_right >= -1,
                      "attention: expected windows of at least -1, found {} and {}",
                      options.window_left, options.window_right);
  Prepared call;
  call.query = with_contiguous_rows(query);
  call.in.key = with_contiguous_rows(key);
  if (value.defined()) call.in.value = with_contiguous_rows(value);
  const double size = static_cast<double>(query.size(3));
  const double scale = options.scale.value_or(size > 0 ? 1 / std::sqrt(size) : 1);
  require<ValueError>(std::isfinite(scale), "attention: expected a finite scale, found {}", scale);
  call.params = {
      scale,           options.softcap, options.causal, options.window_left, options.window_right,
      options.dropout, options.random};
  prepare_bias(call, options, {query.size(0), query.size(1), query.size(2), key.size(2)});
  prepare_places(call, options);
  return call;
}

// The kernel's inputs, kept for the backward.
class SavedCall {
 public:
  SavedCall(const Prepared& call, const Tensor& output, const Tensor& lse)
      : in_(call.in), params_(call.params) {
    saved_.emplace_back(kOp, call.query);
    for (const Tensor* tensor : call.in.tensors()) saved_.emplace_back(kOp, *tensor);
    saved_.emplace_back(kOp, output);
    saved_.emplace_back(kOp, lse);
  }

  std::vector<Tensor> gradients(const Tensor& d_output, const Tensor& d_lse,
                                const Shape& bias_shape, bool bias_wanted) const {
    for (const SavedTensor& tensor : saved_) tensor.get();  // throws where one was changed
    const Tensor query = saved_.front().get();
    const Tensor output = saved_[saved_.size() - 2].get(), lse = saved_.back().get();
    const auto like = [](const Tensor& x) {
      return empty_heads_inside(x.size(0), x.size(1), x.size(2), x.size(3), x.options());
    };
    AttentionGradients g{output, lse, {}, {}, like(query), like(in_.key), like(in_.value), {}};
    g.d_output = d_output.defined() ? with_contiguous_rows(d_output) : zeros_like(output);
    if (d_lse.defined()) g.d_lse = contiguous(d_lse);
    if (bias_wanted) g.d_bias = empty(bias_shape, lse.options());
    call(kAttentionBackward, query, in_, g, params_);
    return {g.d_query, g.d_key, g.d_value, g.d_bias};
  }

 private:
  AttentionInputs in_;
  AttentionParams params_;
  std::vector<SavedTensor> saved_;
};

}  // namespace

AttentionResult attention(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionOptions& options) {
  check_defined(kOp, "query", query);
  check_defined(kOp, "key", key);
  check_defined(kOp, "value", value);
  if (options.query_starts.defined() && query.rank() == 3) {
    check_rank(kOp, "key", key, 3);
    check_rank(kOp, "value", value, 3);
    const AttentionResult packed =
        attention(unpacked(query), unpacked(key), unpacked(value), options);
    return {transpose(squeeze(packed.output, 0), 0, 1), packed.log_sum_exp};
  }
  const Prepared prepared = prepare(query, key, value, options);
  const Tensor& q = prepared.query;
  require<ShapeError>(!options.query_starts.defined() || q.size(0) == 1,
                      "attention: expected batch 1 for packed sequences, found {}", q.size(0));
  const Tensor output =
      empty_heads_inside(q.size(0), q.size(1), q.size(2), value.size(3), q.options());
  const Tensor lse =
      empty({q.size(0), q.size(1), q.size(2)}, {accumulator_of(q.dtype()), q.device()});
  call(kAttention, q, prepared.in, output, lse, prepared.params);
  const Tensor& bias = prepared.bias;
  if (needs_grad(query) || needs_grad(key) || needs_grad(value) || needs_grad(bias))
    record(kOp, {q, prepared.in.key, prepared.in.value, bias}, {output, lse},
           [saved = SavedCall(prepared, output, lse),
            bias_shape = bias.defined() ? bias.shape() : Shape{},
            bias_wanted = needs_grad(bias)](const std::vector<Tensor>& dy) {
             return saved.gradients(dy[0], dy[1], bias_shape, bias_wanted);
           });
  return {output, lse};
}

Tensor attention_weights(const Tensor& query, const Tensor& key, const Tensor& log_sum_exp,
                         const AttentionOptions& options, const std::vector<int64_t>& heads,
                         const std::vector<int64_t>& queries) {
  const NoGrad no_grad;
  check_defined(kOp, "query", query);
  check_defined(kOp, "key", key);
  if (options.query_starts.defined() && query.rank() == 3)
    return attention_weights(unpacked(query), unpacked(key), log_sum_exp, options, heads, queries);
  const Prepared prepared = prepare(query, key, Tensor(), options);
  const Tensor& q = prepared.query;
  check_shape(kOp, "log_sum_exp", log_sum_exp, {q.size(0), q.size(1), q.size(2)});
  check_dtype(kOp, "log_sum_exp", log_sum_exp, accumulator_of(q.dtype()));
  check_same_device(kOp, {{"query", q}, {"log_sum_exp", log_sum_exp}});
  const auto indices = [&](const char* name, std::vector<int64_t> list, int64_t count) {
    if (list.empty()) {
      list.resize(static_cast<size_t>(count));
      std::iota(list.begin(), list.end(), 0);
    }
    for (int64_t at : list)
      require<IndexError>(at >= 0 && at < count,
                          "attention_weights: expected {} from 0 to {}, found {}", name, count - 1,
                          at);
    return from_vector(list, {static_cast<int64_t>(list.size())}, q.device());
  };
  const Tensor head_list = indices("heads", heads, q.size(1));
  const Tensor row_list = indices("queries", queries, q.size(2));
  Tensor weights =
      empty({q.size(0), head_list.count(), row_list.count(), key.size(2)}, log_sum_exp.options());
  call(kAttentionWeights, q, prepared.in, contiguous(log_sum_exp), head_list, row_list, weights,
       prepared.params);
  return weights;
}

}  // namespace glassformer
