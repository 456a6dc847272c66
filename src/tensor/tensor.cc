#include "glassformer/tensor/tensor.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "tensor/convert.h"
#include "tensor/gradient_state.h"
#include "tensor/shape_format.h"

namespace glassformer {

namespace {

bool contiguous(const Shape& shape, const Strides& strides) {
  int64_t expected = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

// The first and one past the last element that a view touches, relative to its storage; as far out
// as numbers go where they do not reach.
struct Extent {
  int64_t first, end;
};
Extent extent_of(const Shape& shape, const Strides& strides, int64_t offset) {
  Extent extent{offset, offset};
  bool wrapped = __builtin_add_overflow(offset, 1, &extent.end);
  for (int i = 0; i < shape.rank(); ++i) {
    int64_t reach = 0;
    wrapped |= __builtin_mul_overflow(shape[i] - 1, strides[i], &reach);
    int64_t& side = reach < 0 ? extent.first : extent.end;
    wrapped |= __builtin_add_overflow(side, reach, &side);
  }
  constexpr Extent kEverything{std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::max()};
  return wrapped ? kEverything : extent;
}

// Walks a strided view in row-major order.
template <class From, class To>
void gather(const From* base, const Tensor& view, std::vector<To>& out) {
  const Shape& shape = view.shape();
  Dims index = Dims::filled(shape.rank(), 0);
  int64_t at = 0;
  for (int64_t i = 0; i < view.count(); ++i) {
    out.push_back(convert_to<To>(base[at]));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      at += view.strides()[axis];
      if (++index[axis] < shape[axis]) break;
      at -= view.strides()[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

template <class To>
void gather_any(const std::byte* base, const Tensor& view, std::vector<To>& out) {
  visit_dtype(view.dtype(),
              [&]<class From>(From) { gather(reinterpret_cast<const From*>(base), view, out); });
}

}  // namespace

Tensor::Impl::Impl(std::shared_ptr<Storage> on, const Shape& sizes, const Strides& steps,
                   int64_t first, int64_t elements, DType type)
    : storage(std::move(on)),
      shape(sizes),
      strides(steps),
      offset(first),
      count(elements),
      dtype(type),
      device(storage->device()),
      contiguous(glassformer::contiguous(shape, strides)) {}

void Tensor::throw_undefined() { throw ValueError("tensor: expected a tensor, found none"); }

const void* Tensor::host_address(DType wanted) const {
  require<DeviceError>(device() == Device::kCpu,
                       "data: expected a tensor on cpu, found one on {}; copy it with to()",
                       name_of(device()));
  require<DTypeError>(dtype() == wanted, "data: expected {}, found {}", name_of(wanted),
                      name_of(dtype()));
  return storage()->data() + static_cast<size_t>(offset()) * size_of(dtype());
}

void* Tensor::mutable_host_address(DType wanted) {
  const void* address = host_address(wanted);
  require<ValueError>(storage()->writable(),
                      "mutable_data: expected memory that can be written, found a mapped file");
  storage()->bump_version();
  return const_cast<void*>(address);
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  std::vector<T> out;
  if (count() == 0) return out;
  out.reserve(static_cast<size_t>(count()));
  const size_t element = size_of(dtype());
  if (device() == Device::kCpu) {
    gather_any(storage()->data() + static_cast<size_t>(offset()) * element, *this, out);
    return out;
  }
  const Extent extent = extent_of(shape(), strides(), offset());
  std::vector<std::byte> host(static_cast<size_t>(extent.end - extent.first) * element);
  storage()->copy_out(host.data(), static_cast<size_t>(extent.first) * element, host.size());
  gather_any(host.data() + static_cast<size_t>(offset() - extent.first) * element, *this, out);
  return out;
}
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;
template std::vector<int8_t> Tensor::to_vector() const;
template std::vector<int32_t> Tensor::to_vector() const;
template std::vector<int64_t> Tensor::to_vector() const;
template std::vector<bool> Tensor::to_vector() const;
template std::vector<BFloat16> Tensor::to_vector() const;
template std::vector<Float16> Tensor::to_vector() const;

double Tensor::item() const {
  require<ShapeError>(count() == 1, "item: expected one element, found shape {}", shape());
  return to_vector<double>().front();
}

bool Tensor::requires_grad() const {
  return impl().gradient != nullptr && impl().gradient->requires_grad;
}

Tensor& Tensor::set_requires_grad(bool value) {
  require<AutogradError>(is_floating(dtype()),
                         "set_requires_grad: expected a floating-point tensor, found {}",
                         name_of(dtype()));
  if (impl_->gradient == nullptr) impl_->gradient = std::make_shared<GradientState>();
  require<AutogradError>(impl_->gradient->node == nullptr,
                         "set_requires_grad: expected a leaf, found the result of an op; detach() "
                         "it first");
  impl_->gradient->requires_grad = value;
  return *this;
}

Tensor Tensor::grad() const {
  return impl().gradient == nullptr ? Tensor() : impl().gradient->grad;
}

void Tensor::set_grad(const Tensor& grad) {
  impl();
  if (impl_->gradient == nullptr) impl_->gradient = std::make_shared<GradientState>();
  impl_->gradient->grad = grad;
}

Tensor Tensor::detach() const { return view(shape(), strides(), offset()); }

Tensor Tensor::view(const Shape& shape, const Strides& strides, int64_t offset) const {
  return from_storage(storage(), shape, strides, offset, dtype());
}

bool Tensor::is_sole_owner() const {
  return impl_.use_count() == 1 && impl().storage.use_count() == 1 && storage()->writable();
}

void Tensor::set_gradient_state(std::shared_ptr<GradientState> state) {
  impl();
  impl_->gradient = std::move(state);
}

Tensor Tensor::from_storage(std::shared_ptr<Storage> storage, const Shape& shape,
                            const Strides& strides, int64_t offset, DType dtype) {
  require<ShapeError>(shape.rank() == strides.rank(),
                      "view: expected as many strides as sizes, found shape {} and strides {}",
                      shape, strides);
  const int64_t count = count_of(shape);
  if (count > 0) {
    const Extent extent = extent_of(shape, strides, offset);
    const auto held = static_cast<int64_t>(storage->bytes() / size_of(dtype));
    require<ShapeError>(extent.first >= 0 && extent.end <= held,
                        "view: expected elements within 0 to {}, found {} to {}", held,
                        extent.first, extent.end);
    require<ShapeError>(reinterpret_cast<uintptr_t>(storage->data()) % size_of(dtype) == 0,
                        "view: expected memory aligned to {} bytes for {}, found less",
                        size_of(dtype), name_of(dtype));
  }
  Tensor tensor;
  tensor.impl_ = std::make_shared<Impl>(std::move(storage), shape, strides, offset, count, dtype);
  return tensor;
}

Tensor empty(const Shape& shape, TensorOptions options) {
  const auto count = static_cast<uint64_t>(count_of(shape));
  const uint64_t element = size_of(options.dtype);
  require<ShapeError>(count <= (uint64_t{1} << 62) / element,
                      "empty: expected at most 2^62 bytes, found shape {} of {}", shape,
                      name_of(options.dtype));
  return Tensor::from_storage(Storage::allocate(options.device, count * element), shape,
                              contiguous_strides(shape), 0, options.dtype);
}

template <class T>
Tensor from_span(std::span<const T> values, const Shape& shape, Device device) {
  Tensor tensor = empty(shape, {kDTypeOf<T>, device});
  require<ShapeError>(static_cast<int64_t>(values.size()) == tensor.count(),
                      "from_span: expected {} values for shape {}, found {}", tensor.count(), shape,
                      values.size());
  if (!values.empty()) tensor.storage()->copy_in(0, values.data(), values.size_bytes());
  return tensor;
}
template Tensor from_span(std::span<const float>, const Shape&, Device);
template Tensor from_span(std::span<const double>, const Shape&, Device);
template Tensor from_span(std::span<const int8_t>, const Shape&, Device);
template Tensor from_span(std::span<const int32_t>, const Shape&, Device);
template Tensor from_span(std::span<const int64_t>, const Shape&, Device);
template Tensor from_span(std::span<const bool>, const Shape&, Device);
template Tensor from_span(std::span<const BFloat16>, const Shape&, Device);
template Tensor from_span(std::span<const Float16>, const Shape&, Device);

Tensor from_vector(const std::vector<bool>& values, const Shape& shape, Device device) {
  const auto host = std::make_unique<bool[]>(values.size());
  std::copy(values.begin(), values.end(), host.get());
  return from_span(std::span<const bool>(host.get(), values.size()), shape, device);
}

}  // namespace glassformer
