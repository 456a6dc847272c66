#include "glassformer/tensor/memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "tensor/host_memory.h"
#include "tensor/memory_backend.h"

namespace glassformer {
namespace {

constexpr size_t kSmallest = 256;
constexpr size_t kSmallestShared = size_t{1} << 20;  // blocks that other sizes may use too

// Rounds up to one of four sizes an octave: at most a fifth is wasted, and sizes that differ a
// little (a last, shorter batch) reuse the same blocks.
size_t block_size(size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  const size_t step = std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

class Cache {
 public:
  void* take(const MemoryBackend& backend, size_t bytes, bool lasting) {
    size_t size = block_size(bytes);
    std::lock_guard lock(mutex_);
    void* data = nullptr;
    if (const auto found = smallest_free(size, lasting); found != free_.end()) {
      data = found->second.back();
      if (found->first != size) larger_.emplace(data, size = found->first);
      found->second.pop_back();
      stats_.bytes_cached -= size;
    } else {
      data = backend.allocate(size);
      if (data == nullptr && stats_.bytes_cached > 0) {
        release_all(backend);
        data = backend.allocate(size);
      }
      if (data == nullptr) return nullptr;
      ++stats_.system_calls;
    }
    stats_.bytes_in_use += size;
    stats_.peak_in_use = std::max(stats_.peak_in_use, stats_.bytes_in_use);
    return data;
  }

  void give(const MemoryBackend& backend, void* data, size_t bytes) noexcept {
    size_t size = block_size(bytes);
    std::lock_guard lock(mutex_);
    if (const auto found = larger_.find(data); found != larger_.end()) {
      size = found->second;
      larger_.erase(found);
    }
    stats_.bytes_in_use -= size;
    try {
      free_[size].push_back(data);
      stats_.bytes_cached += size;
    } catch (const std::bad_alloc&) {
      backend.release(data, size);
    }
  }

  void release(const MemoryBackend& backend) {
    std::lock_guard lock(mutex_);
    release_all(backend);
  }

  MemoryStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }

  void reset_peak() {
    std::lock_guard lock(mutex_);
    stats_.peak_in_use = stats_.bytes_in_use;
  }

 private:
  using Blocks = std::map<size_t, std::vector<void*>>;

  // A free block of that size; where there is none, of large ones the next size: what the forward
  // of a training step took serves its backward, though gradients have other sizes. Not for what
  // lasts: it would keep more than it needs.
  Blocks::iterator smallest_free(size_t size, bool lasting) {
    const size_t limit = lasting || size < kSmallestShared ? size : size + size / 2;
    auto found = free_.lower_bound(size);
    while (found != free_.end() && found->first <= limit && found->second.empty()) ++found;
    return found != free_.end() && found->first <= limit ? found : free_.end();
  }

  void release_all(const MemoryBackend& backend) {
    for (auto& [size, blocks] : free_)
      for (void* data : blocks) backend.release(data, size);
    free_.clear();
    stats_.bytes_cached = 0;
  }

  std::mutex mutex_;
  Blocks free_;
  std::unordered_map<const void*, size_t> larger_;  // blocks in use that are larger than asked for
  MemoryStats stats_;
};

struct Memory {
  std::array<MemoryBackend, kDeviceCount> backends{};
  std::array<Cache, kDeviceCount> caches;
  Memory() {
    backends[static_cast<size_t>(Device::kCpu)] = cpu_memory();
    backends[static_cast<size_t>(Device::kRef)] = ref_memory();
  }
};

// Never destroyed: tensors in static storage may outlive any order of destruction.
Memory& memory() {
  static Memory& instance = *new Memory;
  return instance;
}
Cache& cache(Device device) { return memory().caches[static_cast<size_t>(device)]; }

}  // namespace

void register_memory(Device device, const MemoryBackend& backend) {
  memory().backends[static_cast<size_t>(device)] = backend;
}

bool is_available(Device device) {
  return memory().backends[static_cast<size_t>(device)].allocate != nullptr;
}

const MemoryBackend& memory_backend(Device device) {
  require<DeviceError>(is_available(device),
                       "device {}: expected a device of this build (ref, cpu), found none: the {} "
                       "backend was not built in",
                       name_of(device), name_of(device));
  return memory().backends[static_cast<size_t>(device)];
}

void* cached_allocate(Device device, size_t bytes, bool lasting) {
  void* data = cache(device).take(memory_backend(device), bytes, lasting);
  require<MemoryError>(data != nullptr, "device {}: expected {} bytes of free memory, found fewer",
                       name_of(device), bytes);
  return data;
}

void cached_release(Device device, void* data, size_t bytes) noexcept {
  cache(device).give(memory().backends[static_cast<size_t>(device)], data, bytes);
}

MemoryStats memory_stats(Device device) { return cache(device).stats(); }
void reset_peak_memory(Device device) { cache(device).reset_peak(); }
void release_cached_memory(Device device) { cache(device).release(memory_backend(device)); }

}  // namespace glassformer
