#include "kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "kernels/access.h"
#include "kernels/indices.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

// w_c, 1 where there are no weights.
template <class T>
T weight_of(const Tensor& weights, int64_t c) {
  return weights.defined() ? input<T>(weights)[c] : T(1);
}

template <class T>
void cross_entropy(const Tensor& logits, const Tensor& targets, const Tensor& weights,
                   const Tensor& log_sum_exp, const Tensor& losses, const CrossEntropyRule& rule) {
  const int64_t classes = width_of(logits);
  check_indices(kCrossEntropy.name, "targets", targets, classes, rule.ignore_index);
  const T s = static_cast<T>(rule.label_smoothing);
  for (int64_t row = 0; row < rows_of(logits); ++row) {
    const T* x = input<T>(logits) + row * classes;
    const int64_t t = input<int64_t>(targets)[row];
    T& total = output<T>(log_sum_exp)[row] = 0;
    T& loss = output<T>(losses)[row] = 0;
    if (t == rule.ignore_index) continue;
    const T highest = *std::max_element(x, x + classes);
    T sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[c] - highest);
    total = highest + std::log(sum);
    loss = (1 - s) * weight_of<T>(weights, t) * (total - x[t]);
    if (s == 0) continue;
    T smooth = 0;
    for (int64_t c = 0; c < classes; ++c) smooth += weight_of<T>(weights, c) * (total - x[c]);
    loss += s / static_cast<T>(classes) * smooth;
  }
}

// The sums are of a number a row, so there is no reason not to take them in double.
template <class T>
void reduce(const Tensor& losses, const Tensor& targets, const Tensor& weights, const Tensor& loss,
            const Tensor& normalizer, int64_t ignore_index) {
  double sum = 0, weight = 0;
  for (int64_t row = 0; row < losses.count(); ++row) {
    const int64_t t = input<int64_t>(targets)[row];
    if (t == ignore_index) continue;
    sum += input<T>(losses)[row];
    weight += weight_of<T>(weights, t);
  }
  *output<T>(loss) = static_cast<T>(normalizer.defined() ? sum / weight : sum);
  if (normalizer.defined()) *output<T>(normalizer) = static_cast<T>(weight);
}

template <class T>
void cross_entropy_backward(const Tensor& logits, const Tensor& targets, const Tensor& weights,
                            const Tensor& log_sum_exp, const Tensor& normalizer, const Tensor& dy,
                            const Tensor& dlogits, const CrossEntropyRule& rule) {
  const int64_t classes = width_of(logits);
  const T s = static_cast<T>(rule.label_smoothing);
  T weight_sum = 0;
  for (int64_t c = 0; c < classes; ++c) weight_sum += weight_of<T>(weights, c);
  for (int64_t row = 0; row < rows_of(logits); ++row) {
    const T* x = input<T>(logits) + row * classes;
    T* dx = output<T>(dlogits) + row * classes;
    const int64_t t = input<int64_t>(targets)[row];
    std::fill(dx, dx + classes, T(0));
    if (t == rule.ignore_index) continue;
    const T g = input<T>(dy)[dy.count() == 1 ? 0 : row] /
                (normalizer.defined() ? *input<T>(normalizer) : T(1));
    const T hard = (1 - s) * weight_of<T>(weights, t), soft = s / static_cast<T>(classes);
    for (int64_t c = 0; c < classes; ++c) {
      const T p = std::exp(x[c] - input<T>(log_sum_exp)[row]);
      dx[c] = g * ((hard + soft * weight_sum) * p - (c == t ? hard : T(0)) -
                   soft * weight_of<T>(weights, c));
    }
  }
}

}  // namespace

void register_cross_entropy(Device device) {
  add_both(kCrossEntropy, device, cross_entropy<float>, cross_entropy<double>);
  add_both(kCrossEntropyReduce, device, reduce<float>, reduce<double>);
  add_both(kCrossEntropyBackward, device, cross_entropy_backward<float>,
           cross_entropy_backward<double>);
}

}  // namespace glassformer::ref
