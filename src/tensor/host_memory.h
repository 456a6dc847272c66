#pragma once

#include "tensor/memory_backend.h"

namespace glassformer {

MemoryBackend cpu_memory();
MemoryBackend ref_memory();

}  // namespace glassformer
