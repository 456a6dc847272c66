#pragma once

#include <array>
#include <utility>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Walks N operands of one shape through their own strides (0 where an operand is broadcast). Axes
// that every operand steps over evenly are merged, so that a contiguous walk is a single row.
template <size_t N>
class StridedLoop {
 public:
  using Offsets = std::array<int64_t, N>;

  // `strides[i]` are operand i's, already of the shape's rank.
  StridedLoop(const Shape& shape, const std::array<Strides, N>& strides) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) continue;
      Axis next{shape[axis], {}};
      for (size_t i = 0; i < N; ++i) next.strides[i] = strides[i][axis];
      if (rank_ > 0 && merges(axes_[static_cast<size_t>(rank_ - 1)], next)) {
        next.size *= axes_[static_cast<size_t>(rank_ - 1)].size;
        --rank_;
      }
      axes_[static_cast<size_t>(rank_++)] = next;
    }
    if (rank_ == 0) axes_[static_cast<size_t>(rank_++)] = {1, {}};
    for (int i = 0; i + 1 < rank_; ++i) rows_ *= axes_[static_cast<size_t>(i)].size;
    if (count_of(shape) == 0) rows_ = 0;
  }

  int64_t rows() const { return rows_; }
  int64_t width() const { return last().size; }
  const Offsets& row_strides() const { return last().strides; }  // within a row

  // body(offsets of the row's first elements) for rows [begin, end).
  template <class F>
  void for_rows(int64_t begin, int64_t end, F&& body) const {
    for (int64_t row = begin; row < end; ++row) {
      Offsets offsets{};
      int64_t rest = row;
      for (int i = rank_ - 2; i >= 0; --i) {
        const Axis& axis = axes_[static_cast<size_t>(i)];
        const int64_t at = rest % axis.size;
        rest /= axis.size;
        for (size_t k = 0; k < N; ++k) offsets[k] += at * axis.strides[k];
      }
      body(offsets);
    }
  }

  // body(offsets) for every element, in row-major order.
  template <class F>
  void for_elements(F&& body) const {
    for_rows(0, rows_, [&](Offsets offsets) {
      for (int64_t i = 0; i < width(); ++i) {
        body(std::as_const(offsets));
        for (size_t k = 0; k < N; ++k) offsets[k] += row_strides()[k];
      }
    });
  }

 private:
  struct Axis {
    int64_t size;
    Offsets strides;
  };
  const Axis& last() const { return axes_[static_cast<size_t>(rank_ - 1)]; }
  static bool merges(const Axis& outer, const Axis& inner) {
    for (size_t i = 0; i < N; ++i)
      if (outer.strides[i] != inner.strides[i] * inner.size) return false;
    return true;
  }

  std::array<Axis, kMaxRank + 1> axes_{};
  int rank_ = 0;
  int64_t rows_ = 1;
};

// The strides of `x` broadcast to `shape` (which it must broadcast to).
inline Strides broadcast_strides(const Tensor& x, const Shape& shape) {
  Strides strides = Dims::filled(shape.rank(), 0);
  const int lead = shape.rank() - x.rank();
  for (int i = 0; i < x.rank(); ++i) strides[lead + i] = x.shape()[i] == 1 ? 0 : x.strides()[i];
  return strides;
}

}  // namespace glassformer
