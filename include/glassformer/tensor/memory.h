#pragma once

#include <cstddef>
#include <cstdint>

#include "glassformer/tensor/device.h"

namespace glassformer {

struct MemoryStats {
  size_t bytes_in_use = 0;    // handed out to tensors now
  size_t peak_in_use = 0;     // the most there was since reset_peak_memory()
  size_t bytes_cached = 0;    // kept for reuse
  uint64_t system_calls = 0;  // allocations that went to the system; constant in a steady state
};

MemoryStats memory_stats(Device device);
void reset_peak_memory(Device device);

// Gives the cached memory back to the system.
void release_cached_memory(Device device);

}  // namespace glassformer
