#include "kernels/embedding.h"

#include <algorithm>

#include "kernels/access.h"
#include "kernels/indices.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

template <class T>
void embedding(const Tensor& weight, const Tensor& ids_in, const Tensor& y) {
  check_indices("embedding", "ids", ids_in, weight.size(0));
  const int64_t* ids = input<int64_t>(ids_in);
  const int64_t width = weight.size(1);
  for (int64_t i = 0; i < ids_in.count(); ++i)
    std::copy_n(input<T>(weight) + ids[i] * width, width, output<T>(y) + i * width);
}

template <class T>
void embedding_backward(const Tensor& dy, const Tensor& ids_in, const Tensor& dweight_out,
                        int64_t padding_idx) {
  const int64_t* ids = input<int64_t>(ids_in);
  const int64_t width = dweight_out.size(1);
  T* dweight = output<T>(dweight_out);
  std::fill(dweight, dweight + dweight_out.count(), T(0));
  for (int64_t i = 0; i < ids_in.count(); ++i) {
    if (ids[i] == padding_idx) continue;
    for (int64_t j = 0; j < width; ++j) dweight[ids[i] * width + j] += input<T>(dy)[i * width + j];
  }
}

}  // namespace

void register_embedding(Device device) {
  add_both(kEmbedding, device, embedding<float>, embedding<double>);
  add_both(kEmbeddingBackward, device, embedding_backward<float>, embedding_backward<double>);
}

}  // namespace glassformer::ref
