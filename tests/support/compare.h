#pragma once

#include <vector>

#include "glassformer/glassformer.h"

namespace glassformer::testing {

// The largest |a - b| over the largest |b| (1 where b is all but zero): a distance that neither
// small elements nor scale distort. Infinite where one has a NaN or an infinity the other has not.
double distance(const std::vector<double>& a, const std::vector<double>& b);
double distance(const Tensor& a, const Tensor& b);

// The same numbers behind strides: every other element of a buffer twice as wide, transposed.
Tensor strided_copy(const Tensor& x);
// The same numbers, contiguous, one element past an aligned address.
Tensor misaligned_copy(const Tensor& x);

// The same bits, element by element.
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace glassformer::testing
