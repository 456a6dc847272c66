#include "kernels/rotary.h"

#include <cmath>

#include "kernels/access.h"
#include "kernels/indices.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

template <class T>
void rotary_table(const Tensor& cos, const Tensor& sin, const Tensor& inverse, double scaling) {
  const int64_t pairs = cos.size(1);
  for (int64_t p = 0; p < cos.size(0); ++p)
    for (int64_t i = 0; i < pairs; ++i) {
      const T angle = static_cast<T>(p) * static_cast<T>(input<float>(inverse)[i]);
      output<T>(cos)[p * pairs + i] = std::cos(angle) * static_cast<T>(scaling);
      output<T>(sin)[p * pairs + i] = std::sin(angle) * static_cast<T>(scaling);
    }
}

template <class T>
void rotary(const Tensor& x_in, const Tensor& cos_in, const Tensor& sin_in, const Tensor& positions,
            const Tensor& y_out, const RotaryStep& step) {
  if (positions.defined()) check_indices("apply_rotary", "positions", positions, cos_in.size(0));
  const int64_t pairs = cos_in.size(1), length = x_in.size(2);
  const Strides &xs = x_in.strides(), &ys = y_out.strides();
  for (int64_t b = 0; b < x_in.size(0); ++b)
    for (int64_t h = 0; h < x_in.size(1); ++h)
      for (int64_t t = 0; t < length; ++t) {
        const T* x = input<T>(x_in) + b * xs[0] + h * xs[1] + t * xs[2];
        T* y = output<T>(y_out) + b * ys[0] + h * ys[1] + t * ys[2];
        const int64_t p =
            positions.defined() ? input<int64_t>(positions)[b * length + t] : step.offset + t;
        for (int64_t i = 0; i < pairs; ++i) {
          const int64_t first = step.interleaved ? 2 * i : i;
          const int64_t second = step.interleaved ? 2 * i + 1 : i + pairs;
          const T cos = input<T>(cos_in)[p * pairs + i];
          const T sin = input<T>(sin_in)[p * pairs + i] * (step.backward ? -1 : 1);
          y[first] = x[first] * cos - x[second] * sin;
          y[second] = x[second] * cos + x[first] * sin;
        }
        for (int64_t j = 2 * pairs; j < x_in.size(3); ++j) y[j] = x[j];
      }
}

}  // namespace

void register_rotary(Device device) {
  add_both(kRotaryTable, device, rotary_table<float>, rotary_table<double>);
  add_both(kRotary, device, rotary<float>, rotary<double>);
}

}  // namespace glassformer::ref
