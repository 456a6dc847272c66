#include "support/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace glassformer::testing {

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double scale = 0, worst = 0;
  for (double value : b)
    if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
  if (scale < 1e-8) scale = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;  // equal infinities too
    const double gap = std::abs(a[i] - b[i]);
    worst = std::isfinite(gap) ? std::max(worst, gap) : std::numeric_limits<double>::infinity();
  }
  return worst / scale;
}

double distance(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
  return distance(a.to_vector<double>(), b.to_vector<double>());
}

Tensor strided_copy(const Tensor& x) {
  const NoGrad no_grad;
  if (x.rank() == 0) return misaligned_copy(x);
  Tensor wide = zeros(x.shape().with(x.rank() - 1, 2 * x.size(-1)), x.options());
  if (x.rank() >= 2) {
    // Memory in another order as well.
    Shape swapped = wide.shape();
    std::swap(swapped[0], swapped[x.rank() - 1]);
    wide = transpose(zeros(swapped, x.options()), 0, -1);
  }
  Tensor view = slice(wide, -1, 0, wide.size(-1), 2);
  copy_(view, x);
  return view;
}

Tensor misaligned_copy(const Tensor& x) {
  const NoGrad no_grad;
  const Tensor buffer = zeros({x.count() + 1}, x.options());
  Tensor view = buffer.view(x.shape(), contiguous_strides(x.shape()), 1);
  copy_(view, x);
  return view;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = contiguous(to(a.detach(), Device::kCpu));
  const Tensor y = contiguous(to(b.detach(), Device::kCpu));
  const size_t element = size_of(a.dtype());
  return std::memcmp(x.storage()->data() + static_cast<size_t>(x.offset()) * element,
                     y.storage()->data() + static_cast<size_t>(y.offset()) * element,
                     static_cast<size_t>(a.count()) * element) == 0;
}

}  // namespace glassformer::testing
