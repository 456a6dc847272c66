#include "kernels/positions.h"

#include <cmath>

#include "kernels/access.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

// Angles are float64 whatever T is, as they are in NumPy's hands where these tables come from.
template <class T>
void sinusoidal_positions(const Tensor& y_out, int64_t offset, bool split) {
  const int64_t dim = y_out.size(1);
  for (int64_t t = 0; t < y_out.size(0); ++t) {
    T* y = output<T>(y_out) + t * dim;
    for (int64_t j = 0; j < dim; ++j) {
      const int64_t pair = j / 2;
      const double power = 2.0 * static_cast<double>(pair) / static_cast<double>(dim);
      const double angle = static_cast<double>(offset + t) / std::pow(10000.0, power);
      const int64_t at = !split ? j : pair + (j % 2 == 0 ? 0 : (dim + 1) / 2);
      y[at] = static_cast<T>(j % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
}

}  // namespace

void register_positions(Device device) {
  add_both(kSinusoidalPositions, device, sinusoidal_positions<float>, sinusoidal_positions<double>);
}

}  // namespace glassformer::ref
