#pragma once

#include <cstddef>
#include <memory>

#include "glassformer/tensor/storage.h"

namespace glassformer::cpu {

// Memory for a packed weight, 64-byte aligned. Weights lie one after the other on huge pages: a
// step of a decoder reads all of them at the speed of memory, and one of a few megabytes on small
// pages loses a tenth of it. What they share goes back when the last of them does.
std::shared_ptr<Storage> weight_memory(size_t bytes);

}  // namespace glassformer::cpu
