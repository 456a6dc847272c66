#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "glassformer/tensor/device.h"
#include "glassformer/tensor/dtype.h"
#include "glassformer/tensor/shape.h"
#include "glassformer/tensor/storage.h"

namespace glassformer {

struct GradientState;  // what the tape keeps with a tensor; see tensor/gradient_state.h

struct TensorOptions {
  DType dtype = DType::kFloat32;
  Device device = Device::kCpu;
};

// A handle on a strided view of a Storage. Copying it copies the handle, not the numbers.
// Views, arithmetic and everything else that a gradient must pass through are functions in ops/.
class Tensor {
 public:
  Tensor() = default;  // no tensor: an absent optional argument
  bool defined() const { return impl_ != nullptr; }

  const Shape& shape() const { return impl().shape; }
  const Strides& strides() const { return impl().strides; }  // in elements
  int rank() const { return shape().rank(); }
  int64_t size(int axis) const {  // counted from the end when negative; throws ShapeError
    return shape()[normalize_axis("size", axis, rank())];
  }
  int64_t count() const { return impl().count; }  // the number of elements
  DType dtype() const { return impl().dtype; }
  Device device() const { return impl().device; }
  TensorOptions options() const { return {dtype(), device()}; }
  bool is_contiguous() const { return impl().contiguous; }
  int64_t offset() const { return impl().offset; }  // of the first element in its storage
  const std::shared_ptr<Storage>& storage() const { return impl().storage; }

  // Host access to a cpu tensor, through strides(). Throws DeviceError elsewhere and DTypeError for
  // another T. mutable_data counts as an in-place change; it throws ValueError for mapped memory.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(host_address(kDTypeOf<T>));
  }
  template <class T>
  T* mutable_data() {
    return static_cast<T*>(mutable_host_address(kDTypeOf<T>));
  }

  // The numbers in row-major order, from any device and any strides, converted to T.
  template <class T>
  std::vector<T> to_vector() const;
  // The one number of a tensor with one element. Throws ShapeError for more.
  double item() const;

  // The tape. A leaf that requires a gradient collects it in grad() (not defined() before).
  bool requires_grad() const;
  Tensor& set_requires_grad(bool value = true);  // throws AutogradError unless a floating leaf
  Tensor grad() const;
  void set_grad(const Tensor& grad);  // an undefined tensor clears it
  Tensor detach() const;              // the same memory, off the tape

  // Another view of the same memory, off the tape. Throws ShapeError where it would leave it.
  Tensor view(const Shape& shape, const Strides& strides, int64_t offset) const;

  // True if no other handle or view reaches this memory.
  bool is_sole_owner() const;

  GradientState* gradient_state() const { return shared_gradient_state().get(); }
  const std::shared_ptr<GradientState>& shared_gradient_state() const { return impl().gradient; }
  void set_gradient_state(std::shared_ptr<GradientState> state);

  static Tensor from_storage(std::shared_ptr<Storage> storage, const Shape& shape,
                             const Strides& strides, int64_t offset, DType dtype);

 private:
  struct Impl {
    Impl(std::shared_ptr<Storage> storage, const Shape& shape, const Strides& strides,
         int64_t offset, int64_t count, DType dtype);

    std::shared_ptr<Storage> storage;
    Shape shape;
    Strides strides;
    int64_t offset, count;
    DType dtype;
    Device device;  // the storage's, which checks then need not touch
    bool contiguous;
    std::shared_ptr<GradientState> gradient;
  };
  const Impl& impl() const {
    if (impl_ == nullptr) [[unlikely]]
      throw_undefined();
    return *impl_;
  }
  [[noreturn]] static void throw_undefined();
  const void* host_address(DType dtype) const;
  void* mutable_host_address(DType dtype);

  std::shared_ptr<Impl> impl_;
};

// Uninitialised. Throws ShapeError for negative or overflowing sizes, MemoryError when it is full.
Tensor empty(const Shape& shape, TensorOptions options = {});
inline Tensor empty_like(const Tensor& like) { return empty(like.shape(), like.options()); }

// Host numbers copied to the device. Throws ShapeError unless values.size() is the shape's count.
template <class T>
Tensor from_span(std::span<const T> values, const Shape& shape, Device device = Device::kCpu);
template <class T>
Tensor from_vector(const std::vector<T>& values, const Shape& shape, Device device = Device::kCpu) {
  return from_span(std::span<const T>(values), shape, device);
}
Tensor from_vector(const std::vector<bool>& values, const Shape& shape,
                   Device device = Device::kCpu);

}  // namespace glassformer
