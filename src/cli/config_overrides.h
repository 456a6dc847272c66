#pragma once

#include <string>
#include <vector>

#include "training/config.h"

namespace glassformer {

// "--optimizer.lr 3e-4" or "--optimizer.lr=3e-4", of what is left on the command line.
// Throws CLI::ValidationError, a usage error, for anything else.
Overrides overrides_of(const std::vector<std::string>& left);

}  // namespace glassformer
