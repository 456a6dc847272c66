#include "kernels/cpu/weight_memory.h"

#include <mutex>

namespace glassformer::cpu {
namespace {

constexpr size_t kBlock = size_t{32} << 20;  // only what is touched of it is resident
constexpr size_t kAlignment = 64;

struct Open {
  std::mutex mutex;
  std::weak_ptr<Storage> block;  // that has room left; its weights own it
  size_t used = 0;
};
Open& open_block() {
  static Open& instance = *new Open;
  return instance;
}

}  // namespace

std::shared_ptr<Storage> weight_memory(size_t bytes) {
  if (bytes > kBlock / 2) return Storage::allocate(Device::kCpu, bytes, /*lasting=*/true);
  Open& open = open_block();
  const std::lock_guard lock(open.mutex);
  std::shared_ptr<Storage> block = open.block.lock();
  if (block == nullptr || bytes > kBlock - open.used) {
    open.block = block = Storage::allocate(Device::kCpu, kBlock, /*lasting=*/true);
    open.used = 0;
  }
  std::byte* data = block->data() + open.used;
  open.used += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return Storage::wrap(data, bytes, block, /*writable=*/true);
}

}  // namespace glassformer::cpu
