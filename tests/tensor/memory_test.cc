#include "glassformer/tensor/memory.h"

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"

namespace glassformer::testing {
namespace {

TEST(Memory, SteadyLoopMakesNoSystemCall) {
  Tensor weight = random_normal({64, 48}, {1, 0}).set_requires_grad();
  const auto step = [&] {
    const Tensor x = random_normal({32, 64, 1}, {1, 1});
    backward(sum(gelu(x * weight)));
    const NoGrad no_grad;
    add_(weight, weight.grad() * -0.01);
    weight.set_grad(Tensor());
  };
  for (int i = 0; i < 3; ++i) step();
  const MemoryStats before = memory_stats(Device::kCpu);
  for (int i = 0; i < 10; ++i) step();
  const MemoryStats after = memory_stats(Device::kCpu);
  EXPECT_EQ(after.system_calls, before.system_calls);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(after.bytes_cached, before.bytes_cached);
}

TEST(Memory, CountsWhatIsInUse) {
  for (const Device device : {Device::kCpu, Device::kRef}) {
    release_cached_memory(device);
    reset_peak_memory(device);
    const MemoryStats before = memory_stats(device);
    EXPECT_EQ(before.bytes_cached, 0U);
    {
      const Tensor x = empty({1 << 20}, {DType::kFloat32, device});
      const MemoryStats with = memory_stats(device);
      EXPECT_EQ(with.bytes_in_use, before.bytes_in_use + (4U << 20));
      EXPECT_EQ(with.system_calls, before.system_calls + 1);
    }
    const MemoryStats after = memory_stats(device);
    EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
    EXPECT_EQ(after.peak_in_use, before.bytes_in_use + (4U << 20));
    EXPECT_EQ(after.bytes_cached, 4U << 20);
    reset_peak_memory(device);
    EXPECT_EQ(memory_stats(device).peak_in_use, before.bytes_in_use);
    release_cached_memory(device);
    EXPECT_EQ(memory_stats(device).bytes_cached, 0U);
  }
}

// A last, shorter batch takes the blocks of the others.
TEST(Memory, NearbySizesShareBlocks) {
  release_cached_memory(Device::kCpu);
  { const Tensor x = empty({1000000}); }
  const uint64_t calls = memory_stats(Device::kCpu).system_calls;
  { const Tensor x = empty({950000}); }
  EXPECT_EQ(memory_stats(Device::kCpu).system_calls, calls);
}

// What one part of a step leaves serves another that wants less, but not much less.
TEST(Memory, LargeBlocksServeSmallerSizes) {
  constexpr int64_t kMebibyte = 1 << 18;  // of float32
  release_cached_memory(Device::kCpu);
  { const Tensor x = empty({12 * kMebibyte}); }
  const MemoryStats before = memory_stats(Device::kCpu);
  {
    const Tensor x = empty({9 * kMebibyte});
    const MemoryStats with = memory_stats(Device::kCpu);
    EXPECT_EQ(with.system_calls, before.system_calls);
    EXPECT_EQ(with.bytes_in_use, before.bytes_in_use + (12U << 20));
    EXPECT_EQ(with.bytes_cached, 0U);
  }
  const MemoryStats after = memory_stats(Device::kCpu);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(after.bytes_cached, before.bytes_cached);
  { const Tensor x = empty({12 * kMebibyte}); }
  EXPECT_EQ(memory_stats(Device::kCpu).system_calls, before.system_calls);
  { const Tensor x = empty({7 * kMebibyte}); }
  EXPECT_EQ(memory_stats(Device::kCpu).system_calls, before.system_calls + 1);
}

TEST(Memory, IsAligned) {
  for (const int64_t count : {1, 3, 100, 5000000})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(empty({count}).data<float>()) % 64, 0U);
}

}  // namespace
}  // namespace glassformer::testing
