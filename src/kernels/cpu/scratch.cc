#include "kernels/cpu/scratch.h"

#include <array>
#include <cstdlib>
#include <memory>

#include "base/check.h"

namespace glassformer::cpu {
namespace {

struct Free {
  void operator()(void* data) const noexcept { std::free(data); }
};
struct Block {
  std::unique_ptr<void, Free> data;
  size_t bytes = 0;
};
thread_local std::array<Block, static_cast<size_t>(Scratch::kLast) + 1> blocks;

}  // namespace

void* thread_scratch(Scratch slot, size_t bytes) {
  constexpr size_t kAlignment = 64;
  Block& block = blocks[static_cast<size_t>(slot)];
  if (block.bytes < bytes || block.data == nullptr) {
    const size_t size = (bytes + kAlignment) / kAlignment * kAlignment;
    block.data.reset(std::aligned_alloc(kAlignment, size));
    block.bytes = block.data == nullptr ? 0 : size;
    require<MemoryError>(block.data != nullptr, "scratch memory: expected {} bytes, found fewer",
                         size);
  }
  return block.data.get();
}

}  // namespace glassformer::cpu
