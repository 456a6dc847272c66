#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/philox.h"
#include "kernels/access.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

template <class T>
constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

// Row `row` of head `head` in a [B, H, T, D] tensor.
template <class T>
T* row_of(const Tensor& x, int64_t batch, int64_t head, int64_t row) {
  return output<T>(x) + batch * x.strides()[0] + head * x.strides()[1] + row * x.strides()[2];
}
template <class T>
T element_of(const Tensor& x, int64_t b, int64_t h, int64_t i, int64_t j) {
  return row_of<T>(x, b, h, i)[j * x.strides()[3]];
}

template <class T>
T dot(const T* a, const T* b, int64_t size) {
  T sum = 0;
  for (int64_t d = 0; d < size; ++d) sum += a[d] * b[d];
  return sum;
}

// One query of one head: everything that is needed to say its scores.
template <class T>
struct Query {
  const Tensor& query;
  const AttentionInputs& in;
  const AttentionParams& params;
  const AttentionSpan& span;
  int64_t head, i;

  int64_t row() const { return span.q_begin + i; }
  int64_t key_head() const { return head / (query.size(1) / in.key.size(1)); }
  T* vector() const { return row_of<T>(query, span.batch, head, row()); }
  T* key(int64_t j) const { return row_of<T>(in.key, span.batch, key_head(), span.k_begin + j); }
  T* value(int64_t j) const {
    return row_of<T>(in.value, span.batch, key_head(), span.k_begin + j);
  }

  bool may_attend(int64_t j) const {
    const KeyRange range = key_range(span, params, i);
    if (j < range.begin || j >= range.end) return false;
    return !in.mask.defined() ||
           element_of<bool>(in.mask, span.batch, head, row(), span.k_begin + j);
  }

  // softcap(scale q · k)
  T capped(int64_t j) const {
    const T scaled = static_cast<T>(params.scale) * dot(vector(), key(j), query.size(3));
    const T cap = static_cast<T>(params.softcap);
    return cap > 0 ? cap * std::tanh(scaled / cap) : scaled;
  }
  T cap_slope(int64_t j) const {
    if (params.softcap <= 0) return 1;
    const T ratio = capped(j) / static_cast<T>(params.softcap);
    return 1 - ratio * ratio;
  }

  T score(int64_t j) const {
    if (!may_attend(j)) return kMinusInfinity<T>;
    T s = capped(j);
    if (in.bias.defined()) s += element_of<T>(in.bias, span.batch, head, row(), span.k_begin + j);
    if (in.slopes.defined())
      s += input<T>(in.slopes)[head] * static_cast<T>(j - (i + span.diagonal));
    return s;
  }

  std::vector<T> scores() const {
    std::vector<T> s;
    for (int64_t j = 0; j < span.k_count; ++j) s.push_back(score(j));
    return s;
  }

  // 0 for a weight that is dropped, 1 / (1 - p) for one that is kept.
  T keep(int64_t j) const {
    if (params.dropout <= 0) return 1;
    const uint64_t element = dropout_element(query, in.key, span.batch, head, row(), j);
    if (philox_word(params.random, element) < dropout_threshold(params.dropout)) return 0;
    return static_cast<T>(1 / (1 - params.dropout));
  }
};

// w_j = exp(s_j - lse); nothing to attend to gives nothing.
template <class T>
std::vector<T> weights_from(const std::vector<T>& scores, T lse) {
  std::vector<T> w;
  w.reserve(scores.size());
  for (T s : scores) w.push_back(lse == kMinusInfinity<T> ? T(0) : std::exp(s - lse));
  return w;
}

template <class T, class F>
void for_queries(const Tensor& query, const AttentionInputs& in, const AttentionParams& params,
                 F&& body) {
  for (const AttentionSpan& span : attention_spans(query, in))
    for (int64_t head = 0; head < query.size(1); ++head)
      for (int64_t i = 0; i < span.q_count; ++i) body(Query<T>{query, in, params, span, head, i});
}

template <class T>
T& lse_of(const Tensor& lse, const Query<T>& q) {
  return output<T>(lse)[(q.span.batch * q.query.size(1) + q.head) * q.query.size(2) + q.row()];
}

template <class T>
void attention(const Tensor& query, const AttentionInputs& in, const Tensor& out, const Tensor& lse,
               const AttentionParams& params) {
  for_queries<T>(query, in, params, [&](const Query<T>& q) {
    const std::vector<T> scores = q.scores();
    T highest = kMinusInfinity<T>;
    for (T s : scores) highest = s > highest ? s : highest;
    T sum = 0;
    for (T s : scores) sum += highest == kMinusInfinity<T> ? T(0) : std::exp(s - highest);
    const T log_sum = sum == 0 ? kMinusInfinity<T> : highest + std::log(sum);
    lse_of(lse, q) = log_sum;
    const std::vector<T> weights = weights_from(scores, log_sum);
    T* y = row_of<T>(out, q.span.batch, q.head, q.row());
    for (int64_t d = 0; d < in.value.size(3); ++d) y[d] = 0;
    for (int64_t j = 0; j < q.span.k_count; ++j)
      for (int64_t d = 0; d < in.value.size(3); ++d)
        y[d] += q.keep(j) * weights[static_cast<size_t>(j)] * q.value(j)[d];
  });
}

template <class T>
void zero(const Tensor& x) {
  for (int64_t b = 0; b < x.size(0); ++b)
    for (int64_t h = 0; h < x.size(1); ++h)
      for (int64_t t = 0; t < x.size(2); ++t) std::fill_n(row_of<T>(x, b, h, t), x.size(3), T(0));
}

template <class T>
void attention_backward(const Tensor& query, const AttentionInputs& in, const AttentionGradients& g,
                        const AttentionParams& params) {
  for (const Tensor* gradient : {&g.d_query, &g.d_key, &g.d_value, &g.d_bias})
    if (gradient->defined()) zero<T>(*gradient);
  const int64_t size = query.size(3), value_size = in.value.size(3);
  for_queries<T>(query, in, params, [&](const Query<T>& q) {
    const int64_t batch = q.span.batch;
    const std::vector<T> weights = weights_from(q.scores(), lse_of(g.lse, q));
    const T* y = row_of<T>(g.output, batch, q.head, q.row());
    const T* dy = row_of<T>(g.d_output, batch, q.head, q.row());
    const T d_lse = g.d_lse.defined() ? lse_of(g.d_lse, q) : T(0);
    const T shared = dot(y, dy, value_size) - d_lse;
    for (int64_t j = 0; j < q.span.k_count; ++j) {
      const T w = weights[static_cast<size_t>(j)];
      if (w == 0) continue;
      const T ds = w * (q.keep(j) * dot(dy, q.value(j), value_size) - shared);
      if (g.d_bias.defined()) {
        const auto place = [&](int axis, int64_t at) {
          return g.d_bias.size(axis) == 1 ? 0 : at * g.d_bias.strides()[axis];
        };
        output<T>(g.d_bias)[place(0, batch) + place(1, q.head) + place(2, q.row()) +
                            place(3, q.span.k_begin + j)] += ds;
      }
      const T scaled = static_cast<T>(params.scale) * ds * q.cap_slope(j);
      T* dq = row_of<T>(g.d_query, batch, q.head, q.row());
      T* dk = row_of<T>(g.d_key, batch, q.key_head(), q.span.k_begin + j);
      T* dv = row_of<T>(g.d_value, batch, q.key_head(), q.span.k_begin + j);
      for (int64_t d = 0; d < size; ++d) dq[d] += scaled * q.key(j)[d];
      for (int64_t d = 0; d < size; ++d) dk[d] += scaled * q.vector()[d];
      for (int64_t d = 0; d < value_size; ++d) dv[d] += q.keep(j) * w * dy[d];
    }
  });
}

template <class T>
void attention_weights(const Tensor& query, const AttentionInputs& in, const Tensor& lse,
                       const Tensor& heads, const Tensor& rows, const Tensor& weights,
                       const AttentionParams& params) {
  const std::vector<AttentionSpan> spans = attention_spans(query, in);
  T* to = output<T>(weights);
  for (int64_t b = 0; b < query.size(0); ++b)
    for (int64_t x = 0; x < heads.count(); ++x)
      for (int64_t y = 0; y < rows.count(); ++y, to += in.key.size(2)) {
        std::fill_n(to, in.key.size(2), T(0));
        const int64_t row = input<int64_t>(rows)[y];
        const AttentionSpan& span = span_of(spans, b, row);
        const Query<T> q{query, in, params, span, input<int64_t>(heads)[x], row - span.q_begin};
        const std::vector<T> w = weights_from(q.scores(), lse_of(lse, q));
        std::copy(w.begin(), w.end(), to + span.k_begin);
      }
}

}  // namespace

void register_attention(Device device) {
  add_both(kAttention, device, attention<float>, attention<double>);
  add_both(kAttentionBackward, device, attention_backward<float>, attention_backward<double>);
  add_both(kAttentionWeights, device, attention_weights<float>, attention_weights<double>);
}

}  // namespace glassformer::ref
