#include "checkpoint/tensor_table.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/nearest.h"

namespace glassformer {

TensorTable::TensorTable(std::vector<StoredTensor> tensors, std::string_view where)
    : tensors_(std::move(tensors)) {
  places_.reserve(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i)
    require<FileError>(places_.emplace(tensors_[i].name, i).second,
                       "{}: the tensor '{}' is there twice", where, tensors_[i].name);
}

const StoredTensor* TensorTable::find(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &tensors_[place->second];
}

size_t TensorTable::at(std::string_view name, std::string_view where) const {
  const auto place = places_.find(name);
  if (place != places_.end()) return place->second;
  std::vector<std::string_view> names;
  names.reserve(tensors_.size());
  for (const StoredTensor& tensor : tensors_) names.emplace_back(tensor.name);
  throw FileError(fmt::format("{}: expected a tensor '{}', found none among {}{}", where, name,
                              names.size(), nearest_hint(name, names)));
}

std::optional<int64_t> bytes_of(std::span<const int64_t> shape, int64_t bits) {
  // Strides multiply sizes too, so a zero must not hide the overflow of the others.
  constexpr int64_t kMost = int64_t{1} << 59;
  int64_t product = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(product, std::max<int64_t>(size, 1), &product) ||
        product > kMost / 8)
      return std::nullopt;
    empty |= size == 0;
  }
  if (empty) return 0;
  if (__builtin_mul_overflow(product, bits, &product) || product > kMost || product % 8 != 0)
    return std::nullopt;
  return product / 8;
}

Shape listed_shape(std::span<const int64_t> shape) {
  if (shape.size() <= kMaxRank) return Shape(shape);
  const size_t folded = shape.size() - kMaxRank + 1;
  int64_t first = 1;
  for (const int64_t size : shape.first(folded)) first *= size;
  Shape listed{first};
  for (const int64_t size : shape.subspan(folded)) listed.push_back(size);
  return listed;
}

Tensor tensor_at(const std::shared_ptr<Storage>& file, size_t begin, size_t bytes,
                 const Shape& shape, DType dtype, std::string_view what) {
  const std::byte* data = file->data() + begin;
  if (bytes == 0) return empty(shape, {dtype, Device::kCpu});
  if (dtype == DType::kBool)
    require<FileError>(
        std::all_of(data, data + bytes, [](std::byte b) { return b <= std::byte{1}; }),
        "{}: expected bools of 0 and 1, found another byte", what);
  const size_t element = size_of(dtype);
  if (reinterpret_cast<uintptr_t>(file->data()) % element == 0 && begin % element == 0)
    return Tensor::from_storage(file, shape, contiguous_strides(shape),
                                static_cast<int64_t>(begin / element), dtype);
  Tensor copy = empty(shape, {dtype, Device::kCpu});
  copy.storage()->copy_in(0, data, bytes);
  return copy;
}

}  // namespace glassformer
