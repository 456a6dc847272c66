#pragma once

#include "glassformer/base/random.h"
#include "kernels/table.h"

namespace glassformer {

// y (contiguous) filled with element i of the field: low + (high - low) * uniform, but never above
// `most`, for the rounding of the sum may reach high itself.
inline constexpr Kernel<void(const Tensor& y, RandomKey key, double low, double high, double most)>
    kUniform{"random_uniform"};
// mean + deviation * normal, by Box and Muller from words 2i and 2i + 1.
inline constexpr Kernel<void(const Tensor& y, RandomKey key, double mean, double deviation)>
    kNormal{"random_normal"};

}  // namespace glassformer
