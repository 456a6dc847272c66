#include "kernels/copy.h"

#include "kernels/access.h"
#include "kernels/ref/register.h"
#include "kernels/strided_loop.h"
#include "tensor/convert.h"

namespace glassformer::ref {
namespace {

template <class From>
void copy(const Tensor& from, const Tensor& to) {
  const StridedLoop<2> loop(from.shape(), {from.strides(), to.strides()});
  visit_dtype(to.dtype(), [&]<class To>(To) {
    const From* x = input<From>(from);
    To* y = output<To>(to);
    loop.for_elements([&](const auto& at) { y[at[1]] = convert_to<To>(x[at[0]]); });
  });
}

template <class T>
void fill(const Tensor& to, double value) {
  const StridedLoop<1> loop(to.shape(), {to.strides()});
  T* y = output<T>(to);
  loop.for_elements([&](const auto& at) { y[at[0]] = convert_to<T>(value); });
}

}  // namespace

void register_copy(Device device) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    visit_dtype(dtype, [&]<class T>(T) {
      add_kernel(kCopy, device, dtype, copy<T>);
      add_kernel(kFill, device, dtype, fill<T>);
    });
  }
}

}  // namespace glassformer::ref
