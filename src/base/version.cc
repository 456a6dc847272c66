#include "glassformer/base/version.h"

namespace glassformer {

const char* version() { return GLASSFORMER_VERSION; }

}  // namespace glassformer
