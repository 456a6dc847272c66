#include "kernels/table.h"

#include <array>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "base/check.h"
#include "kernels/backends.h"

namespace glassformer {
namespace {

using Row = std::array<std::array<AnyFunction, kDTypeCount>, kDeviceCount>;
using Table = std::unordered_map<std::string_view, Row>;

Table& mutable_table() {
  static Table& table = *new Table;
  return table;
}

const Table& table() {
  static std::once_flag filled;
  std::call_once(filled, [] {
    register_ref_kernels();
    register_cpu_kernels();
  });
  return mutable_table();
}

}  // namespace

void set_kernel(const char* name, Device device, DType dtype, AnyFunction function) {
  mutable_table()[name][static_cast<size_t>(device)][static_cast<size_t>(dtype)] = function;
}

AnyFunction find_kernel(const char* name, Device device, DType dtype) {
  const auto found = table().find(name);
  if (found == table().end()) return nullptr;
  return found->second[static_cast<size_t>(device)][static_cast<size_t>(dtype)];
}

AnyFunction need_kernel(const char* name, Device device, DType dtype) {
  AnyFunction function = find_kernel(name, device, dtype);
  require<UnsupportedError>(function != nullptr,
                            "{}: expected a kernel for device {} and dtype {}, found none", name,
                            name_of(device), name_of(dtype));
  return function;
}

}  // namespace glassformer
