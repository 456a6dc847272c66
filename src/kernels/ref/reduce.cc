#include "kernels/reduce.h"

#include <algorithm>
#include <cmath>

#include "kernels/access.h"
#include "kernels/ref/register.h"
#include "kernels/strided_loop.h"

namespace glassformer::ref {
namespace {

template <class T>
void sum_to(const Tensor& x_in, const Tensor& y_out) {
  const T* x = input<T>(x_in);
  T* y = output<T>(y_out);
  std::fill(y, y + y_out.count(), T(0));
  const StridedLoop<2> loop(x_in.shape(), {x_in.strides(), broadcast_strides(y_out, x_in.shape())});
  loop.for_elements([&](const auto& at) { y[at[1]] += x[at[0]]; });
}

template <class T>
void max_of_rows(const Tensor& x_in, const Tensor& values_out, const Tensor& indices_out) {
  const int64_t width = width_of(x_in);
  for (int64_t row = 0; row < rows_of(x_in); ++row) {
    const T* x = input<T>(x_in) + row * width;
    int64_t best = 0;
    for (int64_t j = 1; j < width && !std::isnan(x[best]); ++j)
      if (x[j] > x[best] || std::isnan(x[j])) best = j;
    output<T>(values_out)[row] = x[best];
    output<int64_t>(indices_out)[row] = best;
  }
}

template <class T>
void max_of_rows_backward(const Tensor& dy, const Tensor& indices, const Tensor& dx_out) {
  const int64_t width = width_of(dx_out);
  for (int64_t row = 0; row < rows_of(dx_out); ++row) {
    T* dx = output<T>(dx_out) + row * width;
    std::fill(dx, dx + width, T(0));
    dx[input<int64_t>(indices)[row]] = input<T>(dy)[row];
  }
}

}  // namespace

void register_reduce(Device device) {
  add_both(kSumTo, device, sum_to<float>, sum_to<double>);
  add_both(kMaxOfRows, device, max_of_rows<float>, max_of_rows<double>);
  add_both(kMaxOfRowsBackward, device, max_of_rows_backward<float>, max_of_rows_backward<double>);
}

}  // namespace glassformer::ref
