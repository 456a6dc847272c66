#include "kernels/copy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tensor/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/copy.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/copy_plan.h"
#include "kernels/cpu/flat-inl.h"
#include "kernels/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// body(x offset, y offset, begin, end) over pieces of the inner axis, over the threads.
template <class F>
HWY_INLINE void ForInner(const CopyPlan& plan, F&& body) {
  if (plan.rows() == 1) {
    ForFlat(plan.inner().size, [&](int64_t begin, int64_t end) HWY_ATTR {
      body(int64_t{0}, int64_t{0}, begin, end);
      hwy::FlushStream();
    });
    return;
  }
  const int64_t width = plan.inner().size;
  parallel_ranges(plan.rows(), row_grain(width), [&](int64_t begin, int64_t end) HWY_ATTR {
    plan.for_rows(begin, end,
                  [&](int64_t x, int64_t y) HWY_ATTR { body(x, y, int64_t{0}, width); });
    hwy::FlushStream();
  });
}

template <class T>
HWY_INLINE void FillSpan(T* HWY_RESTRICT y, int64_t count, T bits, bool stream) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto v = hn::Set(d, bits);
  int64_t i = 0;
  if (stream && reinterpret_cast<uintptr_t>(y) % (hn::Lanes(d) * sizeof(T)) == 0)
    for (; i + lanes <= count; i += lanes) hn::Stream(v, d, y + i);
  std::fill(y + i, y + count, bits);
}

template <class T>
HWY_INLINE void TransposeEdge(const T* x, T* y, const CopyAxis& across, const CopyAxis& along,
                              int64_t k_begin, int64_t k_end, int64_t j_begin, int64_t j_end) {
  for (int64_t k = k_begin; k < k_end; ++k)
    for (int64_t j = j_begin; j < j_end; ++j) y[k * across.y + j] = x[k + j * along.x];
}

#if HWY_TARGET != HWY_SCALAR
// A square of this many elements of T: its rows are whole vectors.
template <class T>
constexpr int64_t kSquare = HWY_LANES(T);

HWY_INLINE void TransposeSquare(const uint32_t* x, int64_t x_stride, uint32_t* y, int64_t y_stride,
                                bool stream) {
  const hn::ScalableTag<uint32_t> d;
  TransposeUnits(x, static_cast<size_t>(x_stride), [&](size_t p, auto row) HWY_ATTR {
    uint32_t* to = y + static_cast<int64_t>(p) * y_stride;
    stream ? hn::Stream(row, d, to) : hn::StoreU(row, d, to);
  });
}
// A 32-bit unit holds the elements of rows 2p (its low half) and 2p + 1. Two transpositions give
// the left and the right half of each row.
HWY_INLINE void TransposeSquare(const uint16_t* x, int64_t x_stride, uint16_t* y, int64_t y_stride,
                                bool stream) {
  const hn::ScalableTag<uint32_t> d;
  const hn::ScalableTag<uint16_t> d16;
  constexpr int64_t kUnits = HWY_LANES(uint32_t);
  HWY_ALIGN uint32_t left[kUnits * kUnits];
  TransposeUnits(x, static_cast<size_t>(x_stride),
                 [&](size_t p, auto row) HWY_ATTR { hn::Store(row, d, left + p * kUnits); });
  TransposeUnits(x + kUnits * x_stride, static_cast<size_t>(x_stride),
                 [&](size_t p, auto row) HWY_ATTR {
                   const auto low = hn::BitCast(d16, hn::Load(d, left + p * kUnits));
                   const auto high = hn::BitCast(d16, row);
                   const auto even = hn::ConcatEven(d16, high, low);
                   const auto odd = hn::ConcatOdd(d16, high, low);
                   uint16_t* to = y + static_cast<int64_t>(2 * p) * y_stride;
                   if (stream) {
                     hn::Stream(even, d16, to);
                     hn::Stream(odd, d16, to + y_stride);
                   } else {
                     hn::StoreU(even, d16, to);
                     hn::StoreU(odd, d16, to + y_stride);
                   }
                 });
}
#endif

// y[k * across.y + j] = x[k + j * along.x] for k in [k_begin, k_end) and all j of the strip.
template <class T>
HWY_INLINE void TransposeStrip(const T* x, T* y, const CopyAxis& across, const CopyAxis& along,
                               int64_t k_begin, int64_t k_end, int64_t j_begin, int64_t j_end,
                               [[maybe_unused]] bool stream) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4 || sizeof(T) == 2) {
    stream = stream && reinterpret_cast<uintptr_t>(y + j_begin) % 64 == 0 &&
             across.y * static_cast<int64_t>(sizeof(T)) % 64 == 0;
    int64_t j = j_begin;
    for (; j + kSquare<T> <= j_end; j += kSquare<T>) {
      int64_t k = k_begin;
      for (; k + kSquare<T> <= k_end; k += kSquare<T>)
        TransposeSquare(x + k + j * along.x, along.x, y + k * across.y + j, across.y, stream);
      TransposeEdge(x, y, across, along, k, k_end, j, j + kSquare<T>);
    }
    return TransposeEdge(x, y, across, along, k_begin, k_end, j, j_end);
  }
#endif
  TransposeEdge(x, y, across, along, k_begin, k_end, j_begin, j_end);
}

// Tiles of 64 × 64: whole cache lines on both sides, and few enough of them for the L1 cache.
template <class T>
void TransposeTiles(const CopyPlan& plan, const T* x, T* y, bool stream) {
  constexpr int64_t kTile = 64;
  const CopyAxis across = plan.across(), along = plan.inner();
  const int64_t k_tiles = (across.size + kTile - 1) / kTile;
  const int64_t j_tiles = (along.size + kTile - 1) / kTile;
  const CopyPlan rest = plan.without_transposed();
  const int64_t tasks = rest.rows() * rest.inner().size * k_tiles * j_tiles;
  parallel_ranges(tasks, 4, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t k = task % k_tiles * kTile, j = task / k_tiles % j_tiles * kTile;
      const auto [from, to] = rest.element(task / k_tiles / j_tiles);
      TransposeStrip(x + from, y + to, across, along, k, std::min(across.size, k + kTile), j,
                     std::min(along.size, j + kTile), stream);
    }
    hwy::FlushStream();
  });
}

// The same dtype on both sides: bits are moved.
template <class T>
void CopySame(const CopyPlan& plan, const T* x, T* y) {
  const bool stream = worth_streaming(plan.count() * static_cast<int64_t>(sizeof(T)));
  const CopyAxis inner = plan.inner();
  if (plan.transposes()) return TransposeTiles(plan, x, y, stream);
  ForInner(plan, [&](int64_t x0, int64_t y0, int64_t begin, int64_t end) HWY_ATTR {
    if (inner.x == 1 && inner.y == 1)
      return CopyBytes(reinterpret_cast<const uint8_t*>(x + x0 + begin),
                       reinterpret_cast<uint8_t*>(y + y0 + begin),
                       static_cast<size_t>(end - begin) * sizeof(T), stream);
    if (inner.x == 0 && inner.y == 1) return FillSpan(y + y0 + begin, end - begin, x[x0], stream);
    for (int64_t i = begin; i < end; ++i) y[y0 + i * inner.y] = x[x0 + i * inner.x];
  });
}

void CopyBits(const CopyPlan& plan, size_t size, const void* x, void* y) {
  switch (size) {
    case 1: return CopySame(plan, static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y));
    case 2: return CopySame(plan, static_cast<const uint16_t*>(x), static_cast<uint16_t*>(y));
    case 4: return CopySame(plan, static_cast<const uint32_t*>(x), static_cast<uint32_t*>(y));
    default: return CopySame(plan, static_cast<const uint64_t*>(x), static_cast<uint64_t*>(y));
  }
}

// What a cast writes to memory of this type.
template <class T>
HWY_INLINE T* CastTo(T* y) {
  return y;
}
HWY_INLINE CastBf16* CastTo(hwy::bfloat16_t* y) { return reinterpret_cast<CastBf16*>(y); }

// Between float32 and the half types.
void CopyFloats(const CopyPlan& plan, const Tensor& from, const Tensor& to) {
  const CopyAxis inner = plan.inner();
  visit_memory_type(from.dtype(), [&](auto* x_type) HWY_ATTR {
    visit_memory_type(to.dtype(), [&](auto* y_type) HWY_ATTR {
      const auto* x = input<std::remove_pointer_t<decltype(x_type)>>(from);
      auto* y = CastTo(output<std::remove_pointer_t<decltype(y_type)>>(to));
      const bool stream = worth_streaming(plan.count() * static_cast<int64_t>(sizeof(*y)));
      ForInner(plan, [&](int64_t x0, int64_t y0, int64_t begin, int64_t end) HWY_ATTR {
        if (inner.x == 1 && inner.y == 1)
          return MapSpan(
              end - begin, stream, y + y0 + begin, [](auto v) HWY_ATTR { return v; },
              x + x0 + begin);
        for (int64_t i = begin; i < end; ++i)
          StoreOne(LoadOne(x + x0 + i * inner.x), y + y0 + i * inner.y);
      });
    });
  });
}

// `count` elements of `bits`, of which T is the size.
template <class T>
void FillFlat(T* y, int64_t count, T bits) {
  const bool stream = worth_streaming(count * static_cast<int64_t>(sizeof(T)));
  ForFlat(count, [&](int64_t begin, int64_t end) HWY_ATTR {
    FillSpan(y + begin, end - begin, bits, stream);
    hwy::FlushStream();
  });
}

void FillBits(void* y, int64_t count, size_t size, uint64_t bits) {
  switch (size) {
    case 1: return FillFlat(static_cast<uint8_t*>(y), count, static_cast<uint8_t>(bits));
    case 2: return FillFlat(static_cast<uint16_t*>(y), count, static_cast<uint16_t>(bits));
    case 4: return FillFlat(static_cast<uint32_t*>(y), count, static_cast<uint32_t>(bits));
    default: return FillFlat(static_cast<uint64_t*>(y), count, bits);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"
#include "kernels/strided_loop.h"

namespace glassformer::cpu {
namespace {

HWY_EXPORT(CopyBits);
HWY_EXPORT(CopyFloats);
HWY_EXPORT(FillBits);

bool has_fast_conversion(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

template <class From>
void copy(const Tensor& from, const Tensor& to) {
  if (from.count() == 0) return;
  const CopyPlan plan(from, to);
  if (from.dtype() == to.dtype())
    return HWY_DYNAMIC_DISPATCH(CopyBits)(plan, sizeof(From), input<From>(from), output<From>(to));
  if (has_fast_conversion(from.dtype()) && has_fast_conversion(to.dtype()))
    return HWY_DYNAMIC_DISPATCH(CopyFloats)(plan, from, to);
  visit_dtype(to.dtype(), [&]<class To>(To) {
    const From* x = input<From>(from);
    To* y = output<To>(to);
    const CopyAxis inner = plan.inner();
    parallel_ranges(plan.rows(), row_grain(inner.size), [&](int64_t begin, int64_t end) {
      plan.for_rows(begin, end, [&](int64_t x0, int64_t y0) {
        for (int64_t i = 0; i < inner.size; ++i)
          y[y0 + i * inner.y] = convert_to<To>(x[x0 + i * inner.x]);
      });
    });
  });
}

template <class T>
void fill(const Tensor& to, double value) {
  const T number = convert_to<T>(value);
  if (to.is_contiguous()) {
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof(T));
    return HWY_DYNAMIC_DISPATCH(FillBits)(output<T>(to), to.count(), sizeof(T), bits);
  }
  const StridedLoop<1> loop(to.shape(), {to.strides()});
  T* y = output<T>(to);
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

#endif  // HWY_ONCE
