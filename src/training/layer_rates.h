#pragma once

#include <vector>

#include "glassformer/training/optimizer.h"

namespace glassformer {

// What each parameter's learning rate is multiplied by, from its name: `encoder.3.…` is of block 3
// of its stack, `embedding.…` lies below all blocks, everything else above them. See
// OptimizerOptions::layer_decay.
std::vector<double> layer_rates(const std::vector<Trained>& parameters, double layer_decay);

}  // namespace glassformer
