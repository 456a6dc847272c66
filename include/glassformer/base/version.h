#pragma once

namespace glassformer {

// "major.minor.patch", of the library that is linked.
const char* version();

}  // namespace glassformer
