#include "glassformer/tensor/memory.h"

#include <algorithm>
#include <array>
#include <bit>
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

// Blocks come in four sizes an octave: at most a fifth is wasted, and sizes that differ a little (a
// last, shorter batch) reuse the same blocks. Size s is (4 + s % 4) / 4 · 2^(s / 4) times the
// smallest.
constexpr size_t kSizes = 4 * (64 - std::bit_width(kSmallest));
constexpr size_t bytes_of(size_t size) { return (kSmallest / 4 * (4 + size % 4)) << (size / 4); }

// The smallest size that holds so many bytes; kSizes where none does.
constexpr size_t size_for(size_t bytes) {
  if (bytes <= kSmallest) return 0;
  const auto octave = static_cast<size_t>(std::bit_width(bytes - 1) - std::bit_width(kSmallest));
  const size_t step = (kSmallest / 4) << octave;
  return 4 * octave + (bytes - 1) / step - 3;
}
static_assert(size_for(kSmallest) == 0 && size_for(kSmallest + 1) == 1 && bytes_of(1) == 320 &&
              size_for(320) == 1 && size_for(321) == 2 && size_for(512) == 4 &&
              bytes_of(4) == 512 && size_for(513) == 5 && bytes_of(5) == 640);

class Cache {
 public:
  void* take(const MemoryBackend& backend, size_t bytes, bool lasting) {
    const size_t wanted = size_for(bytes);
    if (wanted >= kSizes) return nullptr;
    std::lock_guard lock(mutex_);
    void* data = nullptr;
    const size_t size = smallest_free(wanted, lasting);
    if (std::vector<void*>& blocks = free_[size]; !blocks.empty()) {
      data = blocks.back();
      if (size != wanted) larger_.emplace(data, size);
      blocks.pop_back();
      stats_.bytes_cached -= bytes_of(size);
    } else {
      data = backend.allocate(bytes_of(size));
      if (data == nullptr && stats_.bytes_cached > 0) {
        release_all(backend);
        data = backend.allocate(bytes_of(size));
      }
      if (data == nullptr) return nullptr;
      ++stats_.system_calls;
    }
    stats_.bytes_in_use += bytes_of(size);
    stats_.peak_in_use = std::max(stats_.peak_in_use, stats_.bytes_in_use);
    return data;
  }

  void give(const MemoryBackend& backend, void* data, size_t bytes) noexcept {
    size_t size = size_for(bytes);
    std::lock_guard lock(mutex_);
    if (!larger_.empty()) {
      if (const auto found = larger_.find(data); found != larger_.end()) {
        size = found->second;
        larger_.erase(found);
      }
    }
    stats_.bytes_in_use -= bytes_of(size);
    try {
      free_[size].push_back(data);
      stats_.bytes_cached += bytes_of(size);
    } catch (const std::bad_alloc&) {
      backend.release(data, bytes_of(size));
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
  // A size with a free block: the one wanted, or of large ones one of up to half as much again.
  // What the forward of a training step took serves its backward, though gradients have other
  // sizes. Not for what lasts: it would keep more than it needs. The one wanted where there is
  // none.
  size_t smallest_free(size_t wanted, bool lasting) const {
    if (lasting || bytes_of(wanted) < kSmallestShared) return wanted;
    const size_t most = bytes_of(wanted) + bytes_of(wanted) / 2;
    for (size_t size = wanted; size < kSizes && bytes_of(size) <= most; ++size)
      if (!free_[size].empty()) return size;
    return wanted;
  }

  void release_all(const MemoryBackend& backend) {
    for (size_t size = 0; size < kSizes; ++size) {
      for (void* data : free_[size]) backend.release(data, bytes_of(size));
      free_[size].clear();
    }
    stats_.bytes_cached = 0;
  }

  std::mutex mutex_;
  std::array<std::vector<void*>, kSizes> free_;
  std::unordered_map<const void*, size_t> larger_;  // sizes of blocks larger than asked for
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
