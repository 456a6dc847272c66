#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "glassformer/tensor/stored_tensors.h"

namespace glassformer {

// The list of a file's tensors and the way from a name into it.
class TensorTable {
 public:
  // Throws FileError, with `where` in its message, for a name that is there twice.
  TensorTable(std::vector<StoredTensor> tensors, std::string_view where);
  ~TensorTable() = default;
  TensorTable(TensorTable&&) = default;  // a moved vector keeps its elements, and so their names
  TensorTable& operator=(TensorTable&&) = default;
  TensorTable(const TensorTable&) = delete;
  TensorTable& operator=(const TensorTable&) = delete;

  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const StoredTensor* find(std::string_view name) const;
  // The place of `name` in tensors(). Throws FileError, with the nearest names, where it is not.
  size_t at(std::string_view name, std::string_view where) const;

 private:
  std::vector<StoredTensor> tensors_;
  std::unordered_map<std::string_view, size_t> places_;  // the names are those in tensors_
};

// Bytes that `shape` takes at `bits` an element. Nothing where that is no whole number of bytes or
// where sizes, strides or bytes would come near the end of int64.
std::optional<int64_t> bytes_of(std::span<const int64_t> shape, int64_t bits);

// `shape` within kMaxRank axes: where there are more, the first ones are multiplied together.
Shape listed_shape(std::span<const int64_t> shape);

// A cpu tensor on `bytes` bytes of `file` from `begin`: a view of it, or a copy where elements
// would not be aligned. The bytes must be in the file. Throws FileError, naming `what`, for a bool
// that is neither 0 nor 1.
Tensor tensor_at(const std::shared_ptr<Storage>& file, size_t begin, size_t bytes,
                 const Shape& shape, DType dtype, std::string_view what);

}  // namespace glassformer
