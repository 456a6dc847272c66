#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "glassformer/tensor/tensor.h"

namespace glassformer::cpu {

struct CopyAxis {
  int64_t size = 1, x = 0, y = 0;  // strides of the source and of the destination
};

// The order in which a copy between two strided views of one shape is best made: axes from the
// longest stride of the destination to the shortest, so that it is written front to back, merged
// where both sides step over them evenly. Where whole rows are copied it is the source that is
// read front to back: the processor fetches ahead of reads, and writes do not wait.
class CopyPlan {
 public:
  CopyPlan(const Tensor& from, const Tensor& to) {
    std::array<CopyAxis, kMaxRank> all;
    int count = 0;
    for (int i = 0; i < from.rank(); ++i)
      if (from.shape()[i] != 1)
        all[static_cast<size_t>(count++)] = {from.shape()[i], from.strides()[i], to.strides()[i]};
    std::stable_sort(all.begin(), all.begin() + count,
                     [](const CopyAxis& a, const CopyAxis& b) { return a.y > b.y; });
    if (count > 0 && all[static_cast<size_t>(count - 1)].x == 1)
      std::stable_sort(all.begin(), all.begin() + count - 1,
                       [](const CopyAxis& a, const CopyAxis& b) { return a.x > b.x; });
    for (int i = 0; i < count; ++i) append(all[static_cast<size_t>(i)]);
    if (count == 0) append({1, 1, 1});
  }

  const CopyAxis& inner() const { return axes_[static_cast<size_t>(rank_ - 1)]; }
  int64_t count() const { return rows() * inner().size; }
  int64_t rows() const {
    int64_t rows = 1;
    for (int i = 0; i + 1 < rank_; ++i) rows *= axes_[static_cast<size_t>(i)].size;
    return rows;
  }

  // True where the destination's neighbours are far apart in the source and those of the source,
  // along another axis, far apart in the destination.
  bool transposes() const { return inner().y == 1 && inner().x > 1 && find_across() >= 0; }
  const CopyAxis& across() const { return axes_[static_cast<size_t>(find_across())]; }
  CopyPlan without_transposed() const {
    CopyPlan rest;
    for (int i = 0; i + 1 < rank_; ++i)
      if (i != find_across())
        rest.axes_[static_cast<size_t>(rest.rank_++)] = axes_[static_cast<size_t>(i)];
    if (rest.rank_ == 0) rest.append({});
    return rest;
  }

  // Offsets of element `index` in row-major order over all axes.
  std::pair<int64_t, int64_t> element(int64_t index) const { return offsets(index, rank_); }

  // body(x offset, y offset) of the first elements of rows [begin, end).
  template <class F>
  void for_rows(int64_t begin, int64_t end, F&& body) const {
    for (int64_t row = begin; row < end; ++row) {
      const auto [x, y] = offsets(row, rank_ - 1);
      body(x, y);
    }
  }

 private:
  CopyPlan() = default;

  void append(CopyAxis axis) {
    if (rank_ > 0) {
      const CopyAxis& outer = inner();
      if (outer.x == axis.x * axis.size && outer.y == axis.y * axis.size) {
        axis.size *= outer.size;
        --rank_;
      }
    }
    axes_[static_cast<size_t>(rank_++)] = axis;
  }

  int find_across() const {
    for (int i = rank_ - 2; i >= 0; --i)
      if (axes_[static_cast<size_t>(i)].x == 1) return i;
    return -1;
  }

  std::pair<int64_t, int64_t> offsets(int64_t index, int axes) const {
    std::pair<int64_t, int64_t> at{0, 0};
    for (int i = axes - 1; i >= 0; --i) {
      const CopyAxis& axis = axes_[static_cast<size_t>(i)];
      at.first += index % axis.size * axis.x;
      at.second += index % axis.size * axis.y;
      index /= axis.size;
    }
    return at;
  }

  std::array<CopyAxis, kMaxRank> axes_{};
  int rank_ = 0;
};

}  // namespace glassformer::cpu
