#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace glassformer::bench {

// From here on notes what memory the system gives this process for tensors. Some pages are read at
// half the speed of others, so that a floor has to be measured on those of the work itself.
void note_own_memory();

// What is held of it now and was used, in blocks of a megabyte and more.
std::vector<std::span<std::byte>> own_memory();

}  // namespace glassformer::bench
