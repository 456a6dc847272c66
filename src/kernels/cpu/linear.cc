#include "kernels/access.h"
#include "kernels/cpu/linear_output.h"
#include "kernels/cpu/register.h"

namespace glassformer::cpu {
namespace {

Type type_of(const Tensor& x) { return x.dtype() == DType::kBFloat16 ? Type::kBf16 : Type::kF32; }
const void* address(const Tensor& x) {
  return x.storage()->data() + static_cast<size_t>(x.offset()) * size_of(x.dtype());
}
void* result(const Tensor& x) { return const_cast<void*>(address(x)); }

}  // namespace

MatrixRef matrix(const Tensor& x, int rows, int cols) {
  return {address(x), type_of(x), x.strides()[rows], x.strides()[cols]};
}

GemmOutput output_of(const Tensor& y, const LinearEpilogue& epilogue) {
  GemmOutput out;
  out.c = result(y);
  out.type = type_of(y);
  out.ldc = y.size(1);
  out.activation = epilogue.activation;
  if (epilogue.bias.defined()) {
    out.bias = address(epilogue.bias);
    out.bias_type = type_of(epilogue.bias);
  }
  if (epilogue.pre_activation.defined()) out.pre_activation = result(epilogue.pre_activation);
  if (epilogue.residual.defined()) {
    out.residual = address(epilogue.residual);
    out.ld_residual = y.size(1);
  }
  return out;
}

namespace {

void matmul(const Tensor& a, const Tensor& b, const Tensor& y) {
  GemmOutput out;
  out.c = result(y);
  out.type = type_of(y);
  out.ldc = y.size(2);
  batched_gemm(y.size(0), y.size(1), y.size(2), a.size(2), matrix(a, 1, 2), matrix(b, 1, 2), out,
               {.a = a.strides()[0], .b = b.strides()[0], .c = y.size(1) * y.size(2)});
}

void linear(const Tensor& x, const Tensor& weight, const Tensor& y,
            const LinearEpilogue& epilogue) {
  gemm(y.size(0), y.size(1), x.size(1), matrix(x, 0, 1), matrix(weight, 1, 0),
       output_of(y, epilogue));
}

// The rows of a mapped file go back to the system as soon as they are packed: the weight of a large
// vocabulary does not lie in memory twice.
void pack_weight(const Tensor& weight, DType dtype, PackedData& packed) {
  const size_t size = size_of(weight.dtype());
  const auto give_back = [&](int64_t begin, int64_t end) {
    const int64_t pitch = weight.strides()[0];
    const int64_t count = (end - begin - 1) * pitch + weight.size(1);
    if (weight.strides()[1] == 1 && weight.size(1) > 0)
      weight.storage()->give_back_pages(static_cast<size_t>(weight.offset() + begin * pitch) * size,
                                        static_cast<size_t>(count) * size);
  };
  packed = std::make_shared<PackedB>(pack_b(weight.size(1), weight.size(0), matrix(weight, 1, 0),
                                            dtype == DType::kBFloat16 ? Type::kBf16 : Type::kF32,
                                            give_back));
}

void linear_packed(const Tensor& x, const PackedData& packed, const Tensor& y,
                   const LinearEpilogue& epilogue) {
  gemm(y.size(0), y.size(1), x.size(1), matrix(x, 0, 1), *static_cast<const PackedB*>(packed.get()),
       output_of(y, epilogue));
}

}  // namespace

void register_linear() {
  for (DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    add_kernel(kMatmul, Device::kCpu, dtype, matmul);
    add_kernel(kLinear, Device::kCpu, dtype, linear);
    add_kernel(kPackWeight, Device::kCpu, dtype, pack_weight);
    add_kernel(kLinearPacked, Device::kCpu, dtype, linear_packed);
  }
}

}  // namespace glassformer::cpu
