#pragma once

#include <string>

#include "glassformer/training/learner.h"

namespace glassformer {

// The name of the first step of the model, in the order in which they are computed, that has a
// number that is not finite; otherwise the first such parameter or gradient; for messages.
std::string first_non_finite(const Learner& learner, const Batch& batch, Generator& random,
                             const Optimizer& optimizer);

}  // namespace glassformer
