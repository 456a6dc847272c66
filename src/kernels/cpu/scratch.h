#pragma once

#include <cstddef>

namespace glassformer::cpu {

// Memory of the calling thread's for the time of a kernel, 64-byte aligned, kept between calls so
// that a steady state allocates nothing. One user a slot at a time. Throws MemoryError.
enum class Scratch {
  kAttentionScores,
  kAttentionRows,
  kAttentionGradients,
  kQuantisedPanel,
  kQuantisedRows,
  kQuantisedSums,
  kRow,
  kLast = kRow
};

void* thread_scratch(Scratch slot, size_t bytes);

template <class T>
T* thread_scratch(Scratch slot, size_t count) {
  return static_cast<T*>(thread_scratch(slot, count * sizeof(T)));
}

}  // namespace glassformer::cpu
