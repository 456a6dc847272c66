#include "kernels/gather.h"

#include "base/check.h"

namespace glassformer {

void check_indices(const char* op, const int64_t* indices, int64_t count, int64_t size) {
  for (int64_t i = 0; i < count; ++i)
    require<IndexError>(indices[i] >= 0 && indices[i] < size,
                        "{}: expected indices from 0 to {}, found {} at position {}", op, size - 1,
                        indices[i], i);
}

}  // namespace glassformer
