#include "glassformer/tensor/device.h"

#include <array>

#include "base/check.h"

namespace glassformer {
namespace {
constexpr std::array<std::string_view, kDeviceCount> kNames{"ref", "cpu", "cuda"};
}

std::string_view name_of(Device device) { return kNames[static_cast<size_t>(device)]; }

Device device_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Device>(i);
  throw ValueError(fmt::format("device: expected ref, cpu or cuda, found \"{}\"", name));
}

}  // namespace glassformer
