#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// The kernels are a table: op × device × dtype → function. An op's kernels are named once, as a
// constant that carries their signature,
//
//   inline constexpr Kernel<void(const Tensor& x, const Tensor& y)> kSoftmax{"softmax"};
//
// a backend fills in the functions it has, and ops call whatever stands there:
//
//   call(kSoftmax, x, y);
//
// The first tensor of a call decides device and dtype. Kernels get tensors that the op has checked
// and, for results, allocated; an absent optional argument is an undefined tensor.

// A row of the table, type-erased; the typed functions below are the ones to use.
using AnyFunction = void (*)();
class KernelRow {
 public:
  void set(Device device, DType dtype, AnyFunction function) {
    at(device, dtype).store(function, std::memory_order_release);
  }
  // Null where there is none.
  AnyFunction find(Device device, DType dtype) {
    const AnyFunction found = at(device, dtype).load(std::memory_order_acquire);
    return found != nullptr ? found : find_registered(device, dtype);
  }

 private:
  std::atomic<AnyFunction>& at(Device device, DType dtype) {
    return functions_[static_cast<size_t>(device)][static_cast<size_t>(dtype)];
  }
  AnyFunction find_registered(Device device, DType dtype);  // fills the table, the first time

  std::atomic<AnyFunction> functions_[kDeviceCount][kDTypeCount] = {};
};

// The constant holds its own row, so that a look-up is one read.
template <class Signature>
struct Kernel {
  const char* name;
  mutable KernelRow row = {};
};

[[noreturn]] void throw_unsupported(const char* name, Device device, DType dtype);

template <class... Args>
void add_kernel(const Kernel<void(Args...)>& kernel, Device device, DType dtype,
                std::type_identity_t<void (*)(Args...)> function) {
  kernel.row.set(device, dtype, reinterpret_cast<AnyFunction>(function));
}

template <class Signature>
bool is_supported(const Kernel<Signature>& kernel, Device device, DType dtype) {
  return kernel.row.find(device, dtype) != nullptr;
}

// Opens the memory of one argument for as long as the kernel runs: a tensor, a struct that lists
// its tensors(), or something with no memory at all.
template <class Argument>
class OpenMemory {
 public:
  explicit OpenMemory(const Argument& argument) : argument_(argument) {
    for_each([](const Storage& storage) { storage.open(); });
  }
  ~OpenMemory() {
    for_each([](const Storage& storage) { storage.close(); });
  }
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;

 private:
  template <class F>
  void for_each(F&& f) const {
    if constexpr (std::is_same_v<Argument, Tensor>) {
      if (closes(argument_)) f(*argument_.storage());
    } else if constexpr (requires { argument_.tensors(); }) {
      for (const Tensor* tensor : argument_.tensors())
        if (closes(*tensor)) f(*tensor->storage());
    }
  }
  static bool closes(const Tensor& tensor) {
    return tensor.defined() && Storage::closes(tensor.device());
  }
  const Argument& argument_;
};

template <class... Args>
void call(const Kernel<void(const Tensor&, Args...)>& kernel, const Tensor& first,
          std::type_identity_t<Args>... args) {
  const AnyFunction found = kernel.row.find(first.device(), first.dtype());
  if (found == nullptr) throw_unsupported(kernel.name, first.device(), first.dtype());
  const auto function = reinterpret_cast<void (*)(const Tensor&, Args...)>(found);
  const OpenMemory open_first(first);
  const auto run = [&](const auto&... /*open*/) { function(first, args...); };
  run(OpenMemory(args)...);
}

}  // namespace glassformer
