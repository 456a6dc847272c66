#pragma once

#include "glassformer/tensor/storage.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Storage::give_back_pages from the first element to the last.
inline void give_back_pages(const Tensor& x) {
  if (x.count() == 0) return;
  int64_t extent = 1;
  for (int axis = 0; axis < x.rank(); ++axis) extent += (x.size(axis) - 1) * x.strides()[axis];
  const size_t size = size_of(x.dtype());
  x.storage()->give_back_pages(static_cast<size_t>(x.offset()) * size,
                               static_cast<size_t>(extent) * size);
}

}  // namespace glassformer
