#include "kernels/dropout.h"

#include "base/philox.h"
#include "kernels/access.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

template <class T>
void dropout(const Tensor& x_in, const Tensor& y_out, double p, RandomKey key) {
  const T* x = input<T>(x_in);
  T* y = output<T>(y_out);
  for (int64_t i = 0; i < x_in.count(); ++i) {
    const bool kept = philox_word(key, static_cast<uint64_t>(i)) >= dropout_threshold(p);
    y[i] = kept ? x[i] * static_cast<T>(1 / (1 - p)) : T(0);
  }
}

}  // namespace

void register_dropout(Device device) {
  add_both(kDropout, device, dropout<float>, dropout<double>);
}

}  // namespace glassformer::ref
