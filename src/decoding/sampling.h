#pragma once

#include <span>

#include "glassformer/base/random.h"

namespace glassformer {

// Number `counter` of the field, in (0, 1) with 52 bits.
double uniform(RandomKey key, uint64_t counter);

// The index i with probability weights[i] / sum, from u in (0, 1). Weights are not negative, and
// their sum is above zero.
int32_t draw(std::span<const float> weights, double sum, double u);

// Adds Gumbel noise to every score above −∞: the k largest of the sums are k draws without
// replacement from the softmax of the scores, in the order of the draws. Element i of row `row`
// takes number row·size + i of the field.
void add_gumbel_noise(std::span<float> scores, RandomKey key, uint64_t row);

}  // namespace glassformer
