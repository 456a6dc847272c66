#include "glassformer/base/random.h"

#include "base/philox.h"

namespace glassformer {

std::array<uint32_t, 4> philox(RandomKey key, uint64_t counter) {
  return philox_block(key, counter);
}

}  // namespace glassformer
