#include "kernels/gather.h"

#include <algorithm>

#include "kernels/access.h"
#include "kernels/indices.h"
#include "kernels/ref/register.h"
#include "tensor/convert.h"

namespace glassformer::ref {
namespace {

template <class T>
void select_rows(const Tensor& x, const Tensor& ids_in, const Tensor& y) {
  const int64_t size = x.size(1), count = y.size(1), width = x.size(2);
  const int64_t* ids = input<int64_t>(ids_in);
  check_indices(kSelectRows.name, "ids", ids_in, size);
  for (int64_t o = 0; o < x.size(0); ++o)
    for (int64_t j = 0; j < count; ++j)
      for (int64_t i = 0; i < width; ++i)
        output<T>(y)[(o * count + j) * width + i] = input<T>(x)[(o * size + ids[j]) * width + i];
}

template <class T>
void select_rows_backward(const Tensor& dy, const Tensor& ids_in, const Tensor& dx) {
  const int64_t size = dx.size(1), count = dy.size(1), width = dx.size(2);
  const int64_t* ids = input<int64_t>(ids_in);
  std::fill(output<T>(dx), output<T>(dx) + dx.count(), T(0));
  for (int64_t o = 0; o < dx.size(0); ++o)
    for (int64_t j = 0; j < count; ++j)
      for (int64_t i = 0; i < width; ++i)
        output<T>(dx)[(o * size + ids[j]) * width + i] += input<T>(dy)[(o * count + j) * width + i];
}

template <class T>
void gather(const Tensor& x, const Tensor& index_in, const Tensor& y) {
  const int64_t size = x.size(1), count = y.size(1), width = x.size(2);
  const int64_t* index = input<int64_t>(index_in);
  check_indices(kGather.name, "index", index_in, size);
  for (int64_t o = 0; o < x.size(0); ++o)
    for (int64_t j = 0; j < count; ++j)
      for (int64_t i = 0; i < width; ++i) {
        const int64_t at = (o * count + j) * width + i;
        output<T>(y)[at] = input<T>(x)[(o * size + index[at]) * width + i];
      }
}

template <class T>
void gather_backward(const Tensor& dy, const Tensor& index_in, const Tensor& dx) {
  const int64_t size = dx.size(1), count = dy.size(1), width = dx.size(2);
  const int64_t* index = input<int64_t>(index_in);
  std::fill(output<T>(dx), output<T>(dx) + dx.count(), T(0));
  for (int64_t o = 0; o < dx.size(0); ++o)
    for (int64_t j = 0; j < count; ++j)
      for (int64_t i = 0; i < width; ++i) {
        const int64_t at = (o * count + j) * width + i;
        output<T>(dx)[(o * size + index[at]) * width + i] += input<T>(dy)[at];
      }
}

}  // namespace

void register_gather(Device device) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    visit_dtype(dtype, [&]<class T>(T) {
      add_kernel(kSelectRows, device, dtype, select_rows<T>);
      add_kernel(kGather, device, dtype, gather<T>);
    });
  }
  add_both(kSelectRowsBackward, device, select_rows_backward<float>, select_rows_backward<double>);
  add_both(kGatherBackward, device, gather_backward<float>, gather_backward<double>);
}

}  // namespace glassformer::ref
