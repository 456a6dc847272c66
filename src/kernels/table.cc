#include "kernels/table.h"

#include <mutex>

#include "base/check.h"
#include "kernels/backends.h"

namespace glassformer {

AnyFunction KernelRow::find_registered(Device device, DType dtype) {
  static std::once_flag filled;
  std::call_once(filled, [] {
    register_ref_kernels();
    register_cpu_kernels();
  });
  return at(device, dtype).load(std::memory_order_acquire);
}

void throw_unsupported(const char* name, Device device, DType dtype) {
  throw UnsupportedError(fmt::format("{}: expected a kernel for device {} and dtype {}, found none",
                                     name, name_of(device), name_of(dtype)));
}

}  // namespace glassformer
