#include "kernels/relative_positions.h"

#include <algorithm>

#include "kernels/access.h"
#include "kernels/indices.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

template <class T>
void alibi_bias(const Tensor& slopes, const Tensor& y_out, int64_t offset) {
  T* y = output<T>(y_out);
  for (int64_t h = 0; h < y_out.size(0); ++h)
    for (int64_t i = 0; i < y_out.size(1); ++i)
      for (int64_t j = 0; j < y_out.size(2); ++j)
        *y++ = input<T>(slopes)[h] * static_cast<T>(j - i - offset);
}

void toeplitz(const Tensor& by_distance, const Tensor& y) {
  const int64_t queries = y.size(0), keys = y.size(1);
  for (int64_t i = 0; i < queries; ++i)
    std::copy_n(input<int64_t>(by_distance) + queries - 1 - i, keys, output<int64_t>(y) + i * keys);
}

template <class T>
void relative_bias(const Tensor& table, const Tensor& indices_in, const Tensor& y_out) {
  check_indices("relative_bias", "buckets", indices_in, table.size(0));
  const int64_t heads = table.size(1), count = indices_in.count();
  const int64_t* indices = input<int64_t>(indices_in);
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t k = 0; k < count; ++k)
      output<T>(y_out)[h * count + k] = input<T>(table)[indices[k] * heads + h];
}

template <class T>
void relative_bias_backward(const Tensor& dy, const Tensor& indices_in, const Tensor& dtable_out) {
  const int64_t heads = dtable_out.size(1), count = indices_in.count();
  const int64_t* indices = input<int64_t>(indices_in);
  T* dtable = output<T>(dtable_out);
  std::fill(dtable, dtable + dtable_out.count(), T(0));
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t k = 0; k < count; ++k)
      dtable[indices[k] * heads + h] += input<T>(dy)[h * count + k];
}

}  // namespace

void register_relative_positions(Device device) {
  add_both(kAlibiBias, device, alibi_bias<float>, alibi_bias<double>);
  add_kernel(kToeplitz, device, DType::kInt64, toeplitz);
  add_both(kRelativeBias, device, relative_bias<float>, relative_bias<double>);
  add_both(kRelativeBiasBackward, device, relative_bias_backward<float>,
           relative_bias_backward<double>);
}

}  // namespace glassformer::ref
