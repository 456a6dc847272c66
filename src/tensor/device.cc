#include "glassformer/tensor/device.h"

#include "base/check.h"

namespace glassformer {

Device device_from_name(std::string_view name) {
  for (size_t i = 0; i < kDeviceNames.size(); ++i)
    if (kDeviceNames[i] == name) return static_cast<Device>(i);
  throw ValueError(fmt::format("device: expected ref, cpu or cuda, found \"{}\"", name));
}

}  // namespace glassformer
