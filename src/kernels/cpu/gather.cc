#include "kernels/gather.h"

#include <cstring>
#include <vector>

#include "tensor/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gather.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/flat-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Where the rows with each id are: order[starts[n] .. starts[n + 1]) are those with id n,
// ascending.
struct Buckets {
  std::vector<int64_t> starts, order;
  Buckets(const int64_t* ids, int64_t count, int64_t size)
      : starts(static_cast<size_t>(size) + 1), order(static_cast<size_t>(count)) {
    for (int64_t j = 0; j < count; ++j) ++starts[static_cast<size_t>(ids[j]) + 1];
    for (size_t n = 1; n < starts.size(); ++n) starts[n] += starts[n - 1];
    std::vector<int64_t> next(starts.begin(), starts.end() - 1);
    for (int64_t j = 0; j < count; ++j)
      order[static_cast<size_t>(next[static_cast<size_t>(ids[j])]++)] = j;
  }
};

// to = sum of `count` rows of dy, in order; in float32 whatever the type.
template <class T>
HWY_INLINE void SumRows(const T* dy, const int64_t* rows, int64_t count, int64_t width,
                        float* HWY_RESTRICT sum, T* HWY_RESTRICT to) {
  const auto same = [](auto v) HWY_ATTR { return v; };
  const auto plus = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
  if (count == 0) {
    std::memset(static_cast<void*>(to), 0, static_cast<size_t>(width) * sizeof(T));
  } else if (count == 1) {
    std::memcpy(static_cast<void*>(to), dy + rows[0] * width,
                static_cast<size_t>(width) * sizeof(T));
  } else if (count == 2) {
    MapSpan(width, false, to, plus, dy + rows[0] * width, dy + rows[1] * width);
  } else {
    MapSpan(width, false, sum, same, dy + rows[0] * width);
    for (int64_t k = 1; k + 1 < count; ++k)
      MapSpan(width, false, sum, plus, static_cast<const float*>(sum), dy + rows[k] * width);
    MapSpan(width, false, to, plus, static_cast<const float*>(sum), dy + rows[count - 1] * width);
  }
}

// Every row of dx is written once, by one thread.
void SelectRowsBackward(const Tensor& dy, const Tensor& ids, const Tensor& dx) {
  const int64_t outer = dx.size(0), size = dx.size(1), width = dx.size(2), count = dy.size(1);
  if (dx.count() == 0) return;
  const Buckets buckets(input<int64_t>(ids), count, size);
  visit_memory_type(dx.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    parallel_ranges(outer * size, row_grain(width), [&](int64_t begin, int64_t end) HWY_ATTR {
      std::vector<float> sum(static_cast<size_t>(width));
      for (int64_t row = begin; row < end; ++row) {
        const auto n = static_cast<size_t>(row % size);
        SumRows(input<T>(dy) + row / size * count * width, buckets.order.data() + buckets.starts[n],
                buckets.starts[n + 1] - buckets.starts[n], width, sum.data(),
                output<T>(dx) + row * width);
      }
    });
  });
}

// One [size, width] slab at a time, in float32 whatever the type.
void GatherBackward(const Tensor& dy, const Tensor& index_in, const Tensor& dx) {
  const int64_t outer = dx.size(0), size = dx.size(1), width = dx.size(2), count = dy.size(1);
  const int64_t slab = size * width;
  visit_memory_type(dx.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    parallel_ranges(outer, row_grain(slab), [&](int64_t begin, int64_t end) HWY_ATTR {
      std::vector<float> sum(static_cast<size_t>(slab));
      for (int64_t o = begin; o < end; ++o) {
        std::fill(sum.begin(), sum.end(), 0.0f);
        const T* from = input<T>(dy) + o * count * width;
        const int64_t* index = input<int64_t>(index_in) + o * count * width;
        for (int64_t j = 0; j < count; ++j)
          for (int64_t i = 0; i < width; ++i)
            sum[static_cast<size_t>(index[j * width + i] * width + i)] +=
                LoadOne(from + j * width + i);
        MapSpan(
            slab, false, output<T>(dx) + o * slab, [](auto v) HWY_ATTR { return v; },
            static_cast<const float*>(sum.data()));
      }
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {
namespace {

HWY_EXPORT(SelectRowsBackward);
HWY_EXPORT(GatherBackward);

// Whole rows are copied as bytes: one function for every dtype.
void select_rows(const Tensor& x, const Tensor& ids_in, const Tensor& y) {
  const int64_t size = x.size(1), count = y.size(1);
  const size_t bytes = static_cast<size_t>(x.size(2)) * size_of(x.dtype());
  const int64_t* ids = input<int64_t>(ids_in);
  check_indices(kSelectRows.name, ids, count, size);
  const std::byte* from =
      x.storage()->data() + static_cast<size_t>(x.offset()) * size_of(x.dtype());
  std::byte* to = y.storage()->data() + static_cast<size_t>(y.offset()) * size_of(y.dtype());
  parallel_ranges(y.size(0) * count, row_grain(x.size(2)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t source = row / count * size + ids[row % count];
      std::memcpy(to + static_cast<size_t>(row) * bytes, from + static_cast<size_t>(source) * bytes,
                  bytes);
    }
  });
}

template <class T>
void gather(const Tensor& x_in, const Tensor& index_in, const Tensor& y_out) {
  const int64_t size = x_in.size(1), count = y_out.size(1), width = x_in.size(2);
  check_indices(kGather.name, input<int64_t>(index_in), index_in.count(), size);
  const T* x = input<T>(x_in);
  const int64_t* index = input<int64_t>(index_in);
  T* y = output<T>(y_out);
  parallel_ranges(x_in.size(0) * count, row_grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t i = 0; i < width; ++i)
        y[row * width + i] = x[(row / count * size + index[row * width + i]) * width + i];
  });
}

}  // namespace

void register_gather() {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    add_kernel(kSelectRows, Device::kCpu, dtype, select_rows);
    visit_dtype(dtype, [&]<class T>(T) { add_kernel(kGather, Device::kCpu, dtype, gather<T>); });
  }
  add_fast(kSelectRowsBackward, [](const Tensor& dy, const Tensor& ids, const Tensor& dx) {
    HWY_DYNAMIC_DISPATCH(SelectRowsBackward)(dy, ids, dx);
  });
  add_fast(kGatherBackward, [](const Tensor& dy, const Tensor& index, const Tensor& dx) {
    HWY_DYNAMIC_DISPATCH(GatherBackward)(dy, index, dx);
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
