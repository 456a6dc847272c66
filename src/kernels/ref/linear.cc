#include "kernels/ref/linear.h"

#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

template <class T>
void matmul(const Tensor& a_in, const Tensor& b_in, const Tensor& y_out) {
  const T* a = input<T>(a_in);
  const T* b = input<T>(b_in);
  T* y = output<T>(y_out);
  const Strides &sa = a_in.strides(), &sb = b_in.strides();
  for (int64_t batch = 0; batch < a_in.size(0); ++batch)
    for (int64_t i = 0; i < a_in.size(1); ++i)
      for (int64_t j = 0; j < b_in.size(2); ++j) {
        T sum = 0;
        for (int64_t k = 0; k < a_in.size(2); ++k)
          sum +=
              a[batch * sa[0] + i * sa[1] + k * sa[2]] * b[batch * sb[0] + k * sb[1] + j * sb[2]];
        *y++ = sum;
      }
}

// The parts of the fused layer one after the other, by the kernels of the same device.
template <class T>
void linear(const Tensor& x, const Tensor& weight, const Tensor& y,
            const LinearEpilogue& epilogue) {
  const auto batch_of_one = [](const Tensor& t, int rows, int cols) {
    return t.view({1, t.size(rows), t.size(cols)}, {0, t.strides()[rows], t.strides()[cols]},
                  t.offset());
  };
  matmul<T>(batch_of_one(x, 0, 1), batch_of_one(weight, 1, 0), y);
  finish_linear<T>(y, epilogue);
}

// There is no faster form: the packed weight is the weight.
void pack_weight(const Tensor& weight, DType /*dtype*/, PackedData& packed) {
  packed = std::make_shared<Tensor>(weight);
}

template <class T>
void linear_packed(const Tensor& x, const PackedData& packed, const Tensor& y,
                   const LinearEpilogue& epilogue) {
  const auto& weight = *static_cast<const Tensor*>(packed.get());
  const OpenMemory open(weight);
  linear<T>(x, weight, y, epilogue);
}

}  // namespace

void register_linear(Device device) {
  add_both(kMatmul, device, matmul<float>, matmul<double>);
  add_both(kLinear, device, linear<float>, linear<double>);
  add_both(kPackWeight, device, pack_weight, pack_weight);
  add_both(kLinearPacked, device, linear_packed<float>, linear_packed<double>);
}

}  // namespace glassformer::ref
