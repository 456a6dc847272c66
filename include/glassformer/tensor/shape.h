#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace glassformer {

inline constexpr int kMaxRank = 8;

// Up to kMaxRank numbers held in place: the sizes or the strides (in elements) of a tensor.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values)
      : Dims(std::span<const int64_t>(values.begin(), values.size())) {}
  explicit Dims(std::span<const int64_t> values) {  // throws ShapeError over kMaxRank
    for (int64_t value : values) push_back(value);
  }
  static Dims filled(int rank, int64_t value) {
    Dims dims;
    for (int i = 0; i < rank; ++i) dims.push_back(value);
    return dims;
  }

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  int64_t operator[](int axis) const { return values_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return values_[static_cast<size_t>(axis)]; }
  int64_t back() const { return values_[static_cast<size_t>(rank_ - 1)]; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + rank_; }

  void push_back(int64_t value) {  // throws ShapeError at kMaxRank
    if (rank_ >= kMaxRank) [[unlikely]]
      throw_full();
    values_[static_cast<size_t>(rank_++)] = value;
  }
  Dims without(int axis) const;
  Dims with(int axis, int64_t value) const;
  Dims inserted(int axis, int64_t value) const;

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)  // a call of memcmp takes longer
      if (a[i] != b[i]) return false;
    return true;
  }
  std::string str() const;  // "[2, 3]"

 private:
  [[noreturn]] static void throw_full();

  std::array<int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;

// The number of elements. Throws ShapeError for a negative size or a product over 2^62.
int64_t count_of(const Shape& shape);

// Row-major strides.
Strides contiguous_strides(const Shape& shape);

// The shape both broadcast to (NumPy's rule). Throws ShapeError, with `op` in its message.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

[[noreturn]] void throw_axis(const char* op, int axis, int rank);

// `axis` counted from the end when negative. Throws ShapeError outside [-rank, rank).
inline int normalize_axis(const char* op, int axis, int rank) {
  if (axis < -rank || axis >= rank) [[unlikely]]
    throw_axis(op, axis, rank);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace glassformer
