#pragma once

#include "kernels/table.h"

namespace glassformer {

// weight, dweight [V, D]; ids [...] int64; y, dy [..., D]; all contiguous.
// y[i] = weight[ids[i]]. Throws IndexError for an id outside [0, V).
inline constexpr Kernel<void(const Tensor& weight, const Tensor& ids, const Tensor& y)> kEmbedding{
    "embedding"};
// dweight[v] = sum of dy[i] over ids[i] = v, but 0 for v = padding_idx (none where negative).
inline constexpr Kernel<void(const Tensor& dy, const Tensor& ids, const Tensor& dweight,
                             int64_t padding_idx)>
    kEmbeddingBackward{"embedding_backward"};

}  // namespace glassformer
