#include "kernels/copy.h"

#include <cstring>

#include "base/parallel.h"
#include "kernels/access.h"
#include "kernels/cpu/register.h"
#include "kernels/strided_loop.h"
#include "tensor/convert.h"

namespace glassformer::cpu {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements a thread is worth waking for

template <class From, class To>
void copy_row(const From* x, int64_t x_stride, To* y, int64_t y_stride, int64_t width) {
  if (x_stride == 1 && y_stride == 1) {
    if constexpr (std::is_same_v<From, To>) {
      std::memcpy(y, x, static_cast<size_t>(width) * sizeof(From));
    } else {
      for (int64_t i = 0; i < width; ++i) y[i] = convert_to<To>(x[i]);
    }
    return;
  }
  for (int64_t i = 0; i < width; ++i) y[i * y_stride] = convert_to<To>(x[i * x_stride]);
}

template <class From>
void copy(const Tensor& from, const Tensor& to) {
  const StridedLoop<2> loop(from.shape(), {from.strides(), to.strides()});
  const auto [x_stride, y_stride] = loop.row_strides();
  visit_dtype(to.dtype(), [&]<class To>(To) {
    const From* x = input<From>(from);
    To* y = output<To>(to);
    if (loop.rows() == 1) {
      parallel_ranges(loop.width(), kGrain, [&, xs = x_stride, ys = y_stride](int64_t b, int64_t e) {
        copy_row(x + b * xs, xs, y + b * ys, ys, e - b);
      });
      return;
    }
    const int64_t grain = kGrain / std::max<int64_t>(loop.width(), 1) + 1;
    parallel_ranges(loop.rows(), grain, [&, xs = x_stride, ys = y_stride](int64_t b, int64_t e) {
      loop.for_rows(b, e, [&](const auto& at) {
        copy_row(x + at[0], xs, y + at[1], ys, loop.width());
      });
    });
  });
}

template <class T>
void fill(const Tensor& to, double value) {
  const StridedLoop<1> loop(to.shape(), {to.strides()});
  const T number = convert_to<T>(value);
  T* y = output<T>(to);
  if (loop.rows() == 1 && loop.row_strides()[0] == 1) {
    parallel_ranges(loop.width(), kGrain,
                    [&](int64_t b, int64_t e) { std::fill(y + b, y + e, number); });
    return;
  }
  loop.for_elements([&](const auto& at) { y[at[0]] = number; });
}

}  // namespace

void register_copy() {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    visit_dtype(dtype, [&]<class T>(T) {
      add_kernel(kCopy, Device::kCpu, dtype, copy<T>);
      add_kernel(kFill, Device::kCpu, dtype, fill<T>);
    });
  }
}

}  // namespace glassformer::cpu
