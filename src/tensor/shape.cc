#include "glassformer/tensor/shape.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "tensor/shape_format.h"

namespace glassformer {

void Dims::throw_full() {
  throw ShapeError(fmt::format("shape: expected at most {} axes, found more", kMaxRank));
}

Dims Dims::without(int axis) const {
  Dims dims;
  for (int i = 0; i < rank_; ++i)
    if (i != axis) dims.push_back((*this)[i]);
  return dims;
}

Dims Dims::with(int axis, int64_t value) const {
  Dims dims = *this;
  dims[axis] = value;
  return dims;
}

Dims Dims::inserted(int axis, int64_t value) const {
  Dims dims;
  for (int i = 0; i <= rank_; ++i) {
    if (i == axis) dims.push_back(value);
    if (i < rank_) dims.push_back((*this)[i]);
  }
  return dims;
}

std::string Dims::str() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) text += (i > 0 ? ", " : "") + std::to_string((*this)[i]);
  return text + "]";
}

int64_t count_of(const Shape& shape) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  int64_t count = 1;
  for (int64_t size : shape) {
    require<ShapeError>(size >= 0, "shape {}: expected sizes of at least 0, found {}", shape, size);
    if (size == 0) return 0;
  }
  for (int64_t size : shape)
    require<ShapeError>(!__builtin_mul_overflow(count, size, &count) && count <= kLimit,
                        "shape {}: expected at most 2^62 elements", shape);
  return count;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = Dims::filled(shape.rank(), 1);
  for (int i = shape.rank() - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * std::max<int64_t>(shape[i + 1], 1);
  return strides;
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result = Dims::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const int64_t x = i <= a.rank() ? a[a.rank() - i] : 1;
    const int64_t y = i <= b.rank() ? b[b.rank() - i] : 1;
    require<ShapeError>(x == y || x == 1 || y == 1,
                        "{}: expected shapes that broadcast together, found {} and {}", op, a, b);
    result[rank - i] = x == 1 ? y : x;
  }
  return result;
}

void throw_axis(const char* op, int axis, int rank) {
  throw ShapeError(
      fmt::format("{}: expected an axis from {} to {} for a tensor of rank {}, found {}", op, -rank,
                  rank - 1, rank, axis));
}

}  // namespace glassformer
