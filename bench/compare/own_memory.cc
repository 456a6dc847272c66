#include "own_memory.h"

#include <algorithm>
#include <map>
#include <mutex>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "tensor/memory_backend.h"

namespace glassformer::bench {
namespace {

struct Notes {
  std::mutex mutex;
  std::map<void*, size_t> blocks;
  MemoryBackend system;
};
Notes& notes() {
  static Notes& instance = *new Notes;  // tensors in static storage give their memory back last
  return instance;
}

// The parts of a block that have pages: what was never written would be read from one page of
// zeros, which stays in the first caches.
void append_resident(std::vector<std::span<std::byte>>& found, std::span<std::byte> block) {
#ifdef __linux__
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> there((block.size() + page - 1) / page);
  if (mincore(block.data(), block.size(), there.data()) == 0) {
    for (size_t i = 0, end; i < there.size(); i = end) {
      for (end = i + 1; end < there.size() && (there[end] & 1) == (there[i] & 1);) ++end;
      if ((there[i] & 1) != 0)
        found.push_back(block.subspan(i * page, std::min(end * page, block.size()) - i * page));
    }
    return;
  }
#endif
  found.push_back(block);
}

void* allocate(size_t bytes) {
  void* data = notes().system.allocate(bytes);
  const std::lock_guard lock(notes().mutex);
  if (data != nullptr) notes().blocks[data] = bytes;
  return data;
}

void release(void* data, size_t bytes) noexcept {
  {
    const std::lock_guard lock(notes().mutex);
    notes().blocks.erase(data);
  }
  notes().system.release(data, bytes);
}

}  // namespace

void note_own_memory() {
  notes().system = memory_backend(Device::kCpu);
  MemoryBackend noting = notes().system;
  noting.allocate = allocate;
  noting.release = release;
  register_memory(Device::kCpu, noting);
}

std::vector<std::span<std::byte>> own_memory() {
  constexpr size_t kSmallest = size_t{1} << 20;
  const std::lock_guard lock(notes().mutex);
  std::vector<std::span<std::byte>> found;
  for (const auto& [data, bytes] : notes().blocks)
    if (bytes >= kSmallest) append_resident(found, {static_cast<std::byte*>(data), bytes});
  return found;
}

}  // namespace glassformer::bench
