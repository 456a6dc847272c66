#include "kernels/reduce.h"

#include <limits>
#include <vector>

#include "kernels/strided_loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/flat-inl.h"
#include "kernels/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Every sum is cut into blocks of fixed size and the blocks are added up by a tree, so that the
// bits do not depend on the threads and the error grows with the logarithm of the count.
constexpr int64_t kRowBlock = 16384;  // elements of a sum along the row
constexpr int64_t kDeepBlock = 512;   // rows of a sum over rows
constexpr int64_t kStrip = 1024;      // columns that are summed at a time
constexpr int64_t kNarrow = 64;       // fewer columns are laid side by side first

// x [outer, depth, width] → y [outer, width]
struct Middle {
  int64_t outer, depth, width;
};

// Runs of 64 vectors, added up in double: no chain of float additions is longer than 16.
template <class T>
HWY_INLINE float SumBlock(const T* HWY_RESTRICT x, int64_t count) {
  constexpr int64_t kRun = 64 * HWY_LANES(float);
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kRun) {
    const int64_t end = std::min(count, begin + kRun);
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    int64_t i = begin;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      s0 = hn::Add(s0, LoadF32(d, x + i));
      s1 = hn::Add(s1, LoadF32(d, x + i + lanes));
      s2 = hn::Add(s2, LoadF32(d, x + i + 2 * lanes));
      s3 = hn::Add(s3, LoadF32(d, x + i + 3 * lanes));
    }
    for (; i + lanes <= end; i += lanes) s0 = hn::Add(s0, LoadF32(d, x + i));
    if (i < end) s1 = hn::Add(s1, LoadF32N(d, x + i, static_cast<size_t>(end - i)));
    total += static_cast<double>(SumLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  }
  return static_cast<float>(total);
}

// y[j] (+)= sum of x[r * pitch + j] over `rows`, eight rows at a time by a tree.
template <class T>
HWY_INLINE void SumRowsInto(const T* HWY_RESTRICT x, int64_t rows, int64_t pitch, int64_t width,
                            float* HWY_RESTRICT y) {
  std::fill(y, y + width, 0.0f);
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    const T* p = x + r * pitch;
    MapSpan(
        width, false, y,
        [](auto a, auto b, auto c, auto e, auto f, auto g, auto h, auto i, auto sum) HWY_ATTR {
          return hn::Add(sum, hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)),
                                      hn::Add(hn::Add(f, g), hn::Add(h, i))));
        },
        p, p + pitch, p + 2 * pitch, p + 3 * pitch, p + 4 * pitch, p + 5 * pitch, p + 6 * pitch,
        p + 7 * pitch, static_cast<const float*>(y));
  }
  for (; r < rows; ++r)
    MapSpan(
        width, false, y, [](auto a, auto sum) HWY_ATTR { return hn::Add(sum, a); }, x + r * pitch,
        static_cast<const float*>(y));
}

// Adds `blocks` arrays of `width` floats, `pitch` apart, into the first of them, by a tree.
HWY_INLINE void AddBlocks(float* x, int64_t blocks, int64_t pitch, int64_t width) {
  for (int64_t step = 1; step < blocks; step *= 2)
    for (int64_t b = 0; b + step < blocks; b += 2 * step)
      MapSpan(
          width, false, x + b * pitch, [](auto a, auto c) HWY_ATTR { return hn::Add(a, c); },
          x + b * pitch, x + (b + step) * pitch);
}

int64_t Pieces(int64_t count, int64_t size) { return (count + size - 1) / size; }

// Scratch from the allocator that tensors come from: a steady step asks the system for nothing.
HWY_INLINE Tensor Scratch(int64_t count) { return empty({count}); }

// Sums along rows: width is 1.
template <class T>
void SumAlong(const T* x, Middle shape, float* y) {
  const int64_t blocks = std::max<int64_t>(1, Pieces(shape.depth, kRowBlock));
  const Tensor scratch = Scratch(blocks > 1 ? shape.outer * blocks : 0);
  float* partial = blocks > 1 ? output<float>(scratch) : y;
  const int64_t grain = row_grain(std::min(shape.depth, kRowBlock));
  parallel_ranges(shape.outer * blocks, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i % blocks * kRowBlock;
      partial[i] =
          SumBlock(x + i / blocks * shape.depth + at, std::min(kRowBlock, shape.depth - at));
    }
  });
  if (blocks == 1) return;
  for (int64_t o = 0; o < shape.outer; ++o) {
    AddBlocks(partial + o * blocks, blocks, 1, 1);
    y[o] = partial[o * blocks];
  }
}

// Sums over rows, in strips of columns and blocks of rows.
template <class T>
void SumOver(const T* x, Middle shape, float* y) {
  const int64_t blocks = std::max<int64_t>(1, Pieces(shape.depth, kDeepBlock));
  const int64_t strips = Pieces(shape.width, kStrip);
  const Tensor scratch = Scratch(blocks > 1 ? shape.outer * blocks * shape.width : 0);
  float* partial = blocks > 1 ? output<float>(scratch) : y;
  const int64_t work = std::min(shape.depth, kDeepBlock) * std::min(shape.width, kStrip);
  parallel_ranges(shape.outer * blocks * strips, row_grain(work),
                  [&](int64_t begin, int64_t end) HWY_ATTR {
                    for (int64_t i = begin; i < end; ++i) {
                      const int64_t column = i % strips * kStrip, block = i / strips % blocks;
                      const int64_t o = i / strips / blocks, row = block * kDeepBlock;
                      SumRowsInto(x + (o * shape.depth + row) * shape.width + column,
                                  std::min(kDeepBlock, shape.depth - row), shape.width,
                                  std::min(kStrip, shape.width - column),
                                  partial + (o * blocks + block) * shape.width + column);
                    }
                  });
  if (blocks == 1) return;
  for (int64_t o = 0; o < shape.outer; ++o) {
    float* first = partial + o * blocks * shape.width;
    AddBlocks(first, blocks, shape.width, shape.width);
    std::copy(first, first + shape.width, y + o * shape.width);
  }
}

template <class T>
void SumMiddle(const T* x, Middle shape, float* y) {
  if (shape.width == 1) return SumAlong(x, shape, y);
  // Narrow rows waste most of a vector: several of them side by side are one wide row.
  const int64_t together = kNarrow * 4 / std::max<int64_t>(shape.width, 1);
  if (shape.outer > 1 || shape.width >= kNarrow || shape.depth < 2 * together)
    return SumOver(x, shape, y);
  const int64_t deep = shape.depth / together, wide = together * shape.width;
  const Tensor scratch = Scratch(wide);
  float* partial = output<float>(scratch);
  SumOver(x, {1, deep, wide}, partial);
  MapSpan((shape.depth - deep * together) * shape.width, false, partial,
          [](auto a, auto sum) HWY_ATTR { return hn::Add(sum, a); }, x + deep * wide,
          static_cast<const float*>(partial));
  AddBlocks(partial, together, shape.width, shape.width);
  std::copy(partial, partial + shape.width, y);
}

// The axes of x (contiguous), merged where neighbours are both summed or both kept.
struct Axis {
  int64_t size;
  bool summed;
};
std::vector<Axis> MergedAxes(const Shape& shape, const Strides& kept) {
  std::vector<Axis> axes;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool summed = kept[i] == 0;
    if (shape[i] == 1) continue;
    if (!axes.empty() && axes.back().summed == summed) {
      axes.back().size *= shape[i];
    } else {
      axes.push_back({shape[i], summed});
    }
  }
  return axes;
}

// The innermost axes that are summed, then the next ones, on ever smaller tensors.
void SumTo(const Tensor& x, const Tensor& y_out) {
  std::vector<Axis> axes = MergedAxes(x.shape(), broadcast_strides(y_out, x.shape()));
  const auto product = [&](size_t begin, size_t end) HWY_ATTR {
    int64_t count = 1;
    for (size_t i = begin; i < end; ++i) count *= axes[i].size;
    return count;
  };
  Tensor sum;
  for (size_t at = axes.size(); at-- > 0;) {
    if (!axes[at].summed) continue;
    const Middle shape{product(0, at), axes[at].size, product(at + 1, axes.size())};
    const Tensor next = Scratch(shape.outer * shape.width);
    if (sum.defined()) {
      SumMiddle(input<float>(sum), shape, output<float>(next));
    } else {
      visit_memory_type(x.dtype(), [&](auto* type) HWY_ATTR {
        SumMiddle(input<std::remove_pointer_t<decltype(type)>>(x), shape, output<float>(next));
      });
    }
    sum = next;
    axes[at].size = 1;
  }
  visit_memory_type(y_out.dtype(), [&](auto* type) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto same = [](auto v) HWY_ATTR { return v; };
    if (sum.defined()) {
      MapFlat(y_out.count(), output<T>(y_out), same, input<float>(sum));
    } else {  // every axis that is summed has size 1
      MapFlat(y_out.count(), output<T>(y_out), same, input<T>(x));
    }
  });
}

// The largest of a block, NaN if there is one.
template <class T>
HWY_INLINE float LargestOf(const T* HWY_RESTRICT x, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  constexpr int64_t kAhead = 1024;  // the search below would leave memory idle
  auto nan = hn::Zero(du);
  ForVectors(count, [&](int64_t i, size_t valid) HWY_ATTR {
    hwy::Prefetch(x + i + kAhead);
    const auto v = LoadSome(d, x + i, valid);
    nan = hn::Or(nan, hn::VecFromMask(du, hn::RebindMask(du, hn::IsNaN(v))));
  });
  return hn::AllTrue(du, hn::Eq(nan, hn::Zero(du))) ? RowMax(x, count)
                                                    : std::numeric_limits<float>::quiet_NaN();
}

// The place of the first element that equals `value`, which is there.
template <class T>
HWY_INLINE int64_t FirstPlace(const T* HWY_RESTRICT x, int64_t count, float value) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const bool nan = value != value;
  const auto wanted = hn::Set(d, value);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = LoadF32(d, x + i);
    const auto at = hn::FindFirstTrue(d, nan ? hn::IsNaN(v) : hn::Eq(v, wanted));
    if (at >= 0) return i + at;
  }
  for (; i + 1 < count; ++i) {
    const float v = LoadOne(x + i);
    if (nan ? v != v : v == value) break;
  }
  return i;
}

// The first largest element of a row; the first NaN if there is one. Only the block that has it is
// searched for its place, while it is in the cache or nearly so.
template <class T>
HWY_INLINE int64_t FirstLargest(const T* x, int64_t width) {
  constexpr int64_t kBlock = 4096;
  int64_t block = 0;
  float value = LargestOf(x, std::min(kBlock, width));
  for (int64_t at = kBlock; at < width && value == value; at += kBlock) {
    const float other = LargestOf(x + at, std::min(kBlock, width - at));
    if (other <= value) continue;
    value = other;
    block = at;
  }
  return block + FirstPlace(x + block, std::min(kBlock, width - block), value);
}

void MaxOfRows(const Tensor& x_in, const Tensor& values, const Tensor& indices) {
  const auto of_row = [&]<class T>(int64_t width, int64_t row, const T* x) HWY_ATTR {
    const int64_t best = FirstLargest(x, width);
    output<T>(values)[row] = x[best];
    output<int64_t>(indices)[row] = best;
  };
  ForRows(of_row, x_in);
}

void MaxOfRowsBackward(const Tensor& dy, const Tensor& indices, const Tensor& dx) {
  const auto of_row = [&]<class T>(int64_t width, int64_t row, T* to) HWY_ATTR {
    std::memset(static_cast<void*>(to), 0, static_cast<size_t>(width) * sizeof(*to));
    to[input<int64_t>(indices)[row]] = input<T>(dy)[row];
  };
  ForRows(of_row, dx);
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(SumTo);
HWY_EXPORT(MaxOfRows);
HWY_EXPORT(MaxOfRowsBackward);

void register_reduce() {
  add_fast(kSumTo, [](const Tensor& x, const Tensor& y) { HWY_DYNAMIC_DISPATCH(SumTo)(x, y); });
  add_fast(kMaxOfRows, [](const Tensor& x, const Tensor& values, const Tensor& indices) {
    HWY_DYNAMIC_DISPATCH(MaxOfRows)(x, values, indices);
  });
  add_fast(kMaxOfRowsBackward, [](const Tensor& dy, const Tensor& indices, const Tensor& dx) {
    HWY_DYNAMIC_DISPATCH(MaxOfRowsBackward)(dy, indices, dx);
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
