#include "kernels/arithmetic.h"

#include "kernels/strided_loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/arithmetic.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/flat-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

constexpr int64_t kChunk = 512;  // elements that are gathered at a time from a strided operand

// body(f) with f(a, b) on vectors.
template <class F>
HWY_INLINE void VisitBinary(Binary op, F&& body) {
  switch (op) {
    case Binary::kAdd: return body([](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    case Binary::kSubtract: return body([](auto a, auto b) HWY_ATTR { return hn::Sub(a, b); });
    case Binary::kMultiply: return body([](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
    case Binary::kDivide: return body([](auto a, auto b) HWY_ATTR { return hn::Div(a, b); });
  }
}

template <class T>
struct Operand {
  T* data;
  int64_t stride;
};

// One row: both contiguous, either one number, or strides of any kind.
template <class T, class F>
HWY_INLINE void BinaryRow(Operand<const T> a, Operand<const T> b, Operand<T> y, int64_t width,
                          bool stream, F&& f) {
  const hn::ScalableTag<float> d;
  if (y.stride == 1 && a.stride == 1 && b.stride == 1)
    return MapSpan(width, stream, y.data, f, a.data, b.data);
  if (y.stride == 1 && a.stride == 1 && b.stride == 0) {
    const auto one = hn::Set(d, LoadOne(b.data));
    return MapSpan(
        width, stream, y.data, [&](auto v) HWY_ATTR { return f(v, one); }, a.data);
  }
  if (y.stride == 1 && a.stride == 0 && b.stride == 1) {
    const auto one = hn::Set(d, LoadOne(a.data));
    return MapSpan(
        width, stream, y.data, [&](auto v) HWY_ATTR { return f(one, v); }, b.data);
  }
  HWY_ALIGN float left[kChunk], right[kChunk];
  for (int64_t i = 0; i < width; i += kChunk) {
    const int64_t count = std::min(kChunk, width - i);
    GatherOnes(a.data + i * a.stride, a.stride, count, left);
    GatherOnes(b.data + i * b.stride, b.stride, count, right);
    MapSpan(count, false, left, f, left, right);
    ScatterOnes(left, count, y.data + i * y.stride, y.stride);
  }
}

// body(offsets, count) over pieces of the loop's rows, over the threads: rows where there are
// several, pieces of the row where it is one.
template <size_t N, class F>
HWY_INLINE void ForPieces(const StridedLoop<N>& loop, F&& body) {
  if (loop.rows() == 1) {
    ForFlat(loop.width(), [&](int64_t begin, int64_t end) HWY_ATTR {
      typename StridedLoop<N>::Offsets at;
      for (size_t k = 0; k < N; ++k) at[k] = begin * loop.row_strides()[k];
      body(at, end - begin);
      hwy::FlushStream();
    });
    return;
  }
  parallel_ranges(loop.rows(), row_grain(loop.width()), [&](int64_t begin, int64_t end) HWY_ATTR {
    loop.for_rows(begin, end, [&](const auto& at) HWY_ATTR { body(at, loop.width()); });
    hwy::FlushStream();
  });
}

// Rows of a length that streaming can fill whole lines of.
HWY_INLINE bool StreamsResult(const Tensor& y, bool in_place) {
  return !in_place && worth_streaming(y.count() * static_cast<int64_t>(size_of(y.dtype())));
}

void BinaryAny(const Tensor& a_in, const Tensor& b_in, const Tensor& y_out, Binary op) {
  const Shape& shape = y_out.shape();
  const StridedLoop<3> loop(
      shape, {broadcast_strides(a_in, shape), broadcast_strides(b_in, shape), y_out.strides()});
  const auto [sa, sb, sy] = loop.row_strides();
  visit_memory_type(y_out.dtype(), [&, sa = sa, sb = sb, sy = sy](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    const T* a = input<T>(a_in);
    const T* b = input<T>(b_in);
    T* y = output<T>(y_out);
    const bool stream = StreamsResult(y_out, a == y || b == y);
    VisitBinary(op, [&](auto f) HWY_ATTR {
      ForPieces(loop, [&](const auto& at, int64_t count) HWY_ATTR {
        BinaryRow<T>({a + at[0], sa}, {b + at[1], sb}, {y + at[2], sy}, count, stream, f);
      });
    });
  });
}

void Affine(const Tensor& x_in, const Tensor& y_out, double scale_in, double shift_in) {
  const StridedLoop<2> loop(x_in.shape(), {x_in.strides(), y_out.strides()});
  const auto [sx, sy] = loop.row_strides();
  visit_memory_type(y_out.dtype(), [&, sx = sx, sy = sy](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    const T* x = input<T>(x_in);
    T* y = output<T>(y_out);
    const bool stream = StreamsResult(y_out, x == y);
    ForPieces(loop, [&](const auto& at, int64_t width) HWY_ATTR {
      const hn::ScalableTag<float> d;
      const auto scale = hn::Set(d, static_cast<float>(scale_in));
      const auto shift = hn::Set(d, static_cast<float>(shift_in));
      const auto f = [&](auto v) HWY_ATTR { return hn::MulAdd(v, scale, shift); };
      if (sx == 1 && sy == 1) return MapSpan(width, stream, y + at[1], f, x + at[0]);
      HWY_ALIGN float chunk[kChunk];
      for (int64_t i = 0; i < width; i += kChunk) {
        const int64_t count = std::min(kChunk, width - i);
        GatherOnes(x + at[0] + i * sx, sx, count, chunk);
        MapSpan(count, false, chunk, f, chunk);
        ScatterOnes(chunk, count, y + at[1] + i * sy, sy);
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

HWY_EXPORT(BinaryAny);
HWY_EXPORT(Affine);

void register_arithmetic() {
  add_fast(kBinary, [](const Tensor& a, const Tensor& b, const Tensor& y, Binary op) {
    HWY_DYNAMIC_DISPATCH(BinaryAny)(a, b, y, op);
  });
  add_fast(kAffine, [](const Tensor& x, const Tensor& y, double scale, double shift) {
    HWY_DYNAMIC_DISPATCH(Affine)(x, y, scale, shift);
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
