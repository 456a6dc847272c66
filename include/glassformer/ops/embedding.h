#pragma once

#include <cstdint>
#include <optional>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// y[..., :] = weight[ids[...], :].
// weight: [V, D], floating; ids: [...], int64 or int32. A new tensor [..., D].
// The gradient of weight is dense. The row `padding_idx` of it stays zero; the row is read like any
// other. Throws IndexError for an id or a padding_idx outside [0, V), naming its place.
Tensor embedding(const Tensor& weight, const Tensor& ids,
                 std::optional<int64_t> padding_idx = std::nullopt);

}  // namespace glassformer
