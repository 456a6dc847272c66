#include "kernels/table.h"

#include <array>
#include <mutex>
#include <unordered_map>

#include "base/check.h"
#include "kernels/backends.h"

namespace glassformer {
namespace {

using Row = std::array<std::array<AnyFunction, kDTypeCount>, kDeviceCount>;
using Table = std::unordered_map<const void*, Row>;

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

void set_kernel(const void* kernel, Device device, DType dtype, AnyFunction function) {
  mutable_table()[kernel][static_cast<size_t>(device)][static_cast<size_t>(dtype)] = function;
}

AnyFunction find_kernel(const void* kernel, Device device, DType dtype) {
  const auto found = table().find(kernel);
  if (found == table().end()) return nullptr;
  return found->second[static_cast<size_t>(device)][static_cast<size_t>(dtype)];
}

void throw_unsupported(const char* name, Device device, DType dtype) {
  throw UnsupportedError(fmt::format("{}: expected a kernel for device {} and dtype {}, found none",
                                     name, name_of(device), name_of(dtype)));
}

}  // namespace glassformer
