#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace glassformer {

// ref:  the naive kernels, in memory of their own that only they may touch;
// cpu:  the fast kernels in host memory;
// cuda: NVIDIA GPUs, where the backend was built in and a GPU is there.
enum class Device : uint8_t { kRef, kCpu, kCuda };
inline constexpr int kDeviceCount = 3;

inline constexpr std::array<std::string_view, kDeviceCount> kDeviceNames{"ref", "cpu", "cuda"};
constexpr std::string_view name_of(Device device) {
  return kDeviceNames[static_cast<size_t>(device)];
}

// Throws ValueError for an unknown name.
Device device_from_name(std::string_view name);

bool is_available(Device device);

}  // namespace glassformer
