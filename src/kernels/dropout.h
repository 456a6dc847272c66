#pragma once

#include "glassformer/base/random.h"
#include "kernels/table.h"

namespace glassformer {

// y_i = x_i / (1 - p) where philox_word(key, i) >= dropout_threshold(p), otherwise 0; p < 1.
// Contiguous; y may be x's own memory. Its own backward, from dy to dx.
inline constexpr Kernel<void(const Tensor& x, const Tensor& y, double p, RandomKey key)> kDropout{
    "dropout"};

}  // namespace glassformer
