#include "tensor/host_memory.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"

namespace glassformer {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;

void* allocate_host(size_t bytes) {
  // Large blocks on huge pages: a weight matrix on 4 KiB pages spends a tenth of a GEMM on misses
  // of the translation buffer.
  const size_t alignment = bytes >= 2 * kHugePage ? kHugePage : kCacheLine;
  if (bytes > SIZE_MAX - alignment) return nullptr;
  const size_t size = (bytes + alignment - 1) / alignment * alignment;
  void* data = std::aligned_alloc(alignment, size);
  // Whole ones: a last one that is used in part would be resident in full.
  if (data != nullptr && alignment == kHugePage)
    madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return data;
}
void release_host(void* data, size_t /*bytes*/) noexcept { std::free(data); }
void copy_host(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

#ifdef GLASSFORMER_PROTECT_REF
// Counts the kernels that have a block open, since several threads may run kernels on one tensor.
// A block is protected as a whole: it has its pages to itself.
struct OpenBlocks {
  std::mutex mutex;
  std::map<const void*, int> users;
};
OpenBlocks& open_blocks() {
  static OpenBlocks& instance = *new OpenBlocks;
  return instance;
}

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}
void protect(const void* data, size_t bytes, int how) {
  mprotect(const_cast<void*>(data), whole_pages(bytes), how);
}

void* allocate_ref(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  void* data = mmap(nullptr, whole_pages(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}
void release_ref(void* data, size_t bytes) noexcept { munmap(data, whole_pages(bytes)); }
#endif

}  // namespace

#ifdef GLASSFORMER_PROTECT_REF
bool ref_memory_is_protected() { return true; }

void open_ref_memory(const void* data, size_t bytes) {
  std::lock_guard lock(open_blocks().mutex);
  if (open_blocks().users[data]++ == 0) protect(data, bytes, PROT_READ | PROT_WRITE);
}

void close_ref_memory(const void* data, size_t bytes) noexcept {
  std::lock_guard lock(open_blocks().mutex);
  auto found = open_blocks().users.find(data);
  if (found == open_blocks().users.end() || --found->second > 0) return;
  open_blocks().users.erase(found);
  protect(data, bytes, PROT_NONE);
}

MemoryBackend ref_memory() { return {allocate_ref, release_ref, copy_host, copy_host}; }
#else
bool ref_memory_is_protected() { return false; }
void open_ref_memory(const void* /*data*/, size_t /*bytes*/) {}
void close_ref_memory(const void* /*data*/, size_t /*bytes*/) noexcept {}
MemoryBackend ref_memory() { return {allocate_host, release_host, copy_host, copy_host}; }
#endif

MemoryBackend cpu_memory() { return {allocate_host, release_host, copy_host, copy_host}; }

}  // namespace glassformer
