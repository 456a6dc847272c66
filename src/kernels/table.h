#pragma once

#include <cstdint>
#include <optional>
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
template <class Signature>
struct Kernel {
  const char* name;
};

using AnyFunction = void (*)();

// Type-erased table; the typed functions below are the ones to use.
void set_kernel(const char* name, Device device, DType dtype, AnyFunction function);
AnyFunction find_kernel(const char* name, Device device, DType dtype);  // null where there is none
AnyFunction need_kernel(const char* name, Device device, DType dtype);  // throws UnsupportedError

template <class... Args>
void add_kernel(const Kernel<void(Args...)>& kernel, Device device, DType dtype,
                std::type_identity_t<void (*)(Args...)> function) {
  set_kernel(kernel.name, device, dtype, reinterpret_cast<AnyFunction>(function));
}

template <class Signature>
bool is_supported(const Kernel<Signature>& kernel, Device device, DType dtype) {
  return find_kernel(kernel.name, device, dtype) != nullptr;
}

// Opens the memory of a call's tensors for as long as the kernel runs.
class OpenMemory {
 public:
  explicit OpenMemory(const Tensor& tensor)
      : storage_(tensor.defined() ? tensor.storage().get() : nullptr) {
    if (storage_ != nullptr) storage_->open();
  }
  template <class Other>
  explicit OpenMemory(const Other& /*not a tensor*/) : storage_(nullptr) {}
  ~OpenMemory() {
    if (storage_ != nullptr) storage_->close();
  }
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;

 private:
  const Storage* storage_;
};

template <class... Args>
void call(const Kernel<void(const Tensor&, Args...)>& kernel, const Tensor& first,
          std::type_identity_t<Args>... args) {
  auto function = reinterpret_cast<void (*)(const Tensor&, Args...)>(
      need_kernel(kernel.name, first.device(), first.dtype()));
  OpenMemory open_first(first);
  const auto run = [&](const auto&... /*open*/) { function(first, args...); };
  run(OpenMemory(args)...);
}

}  // namespace glassformer
