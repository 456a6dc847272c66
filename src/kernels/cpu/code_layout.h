#pragma once

#include "kernels/cpu/quantised.h"

namespace glassformer::cpu {

// Where things lie in a panel of codes, in bytes:
//   header | for every 8 groups: units | for every group: codes, scales
struct CodeLayout {
  size_t header, units, codes, scales;
  int offset;  // of the codes

  size_t group(size_t g) const {
    return header + g * (codes + scales) + (units == 0 ? 0 : (g / kSuperGroups + 1) * units);
  }
  size_t unit(size_t g) const { return group(g / kSuperGroups * kSuperGroups) - units; }
};

constexpr CodeLayout layout_of(CodeFormat format) {
  switch (format) {
    case CodeFormat::kChannel8: return {128, 0, 1024, 0, 128};
    case CodeFormat::kGroup8: return {0, 0, 1024, 64, 128};
    case CodeFormat::kGroup4: return {0, 0, 512, 64, 8};
    case CodeFormat::kSuper4: return {0, 128, 512, 64, 0};
    case CodeFormat::kSuper6: return {0, 64, 768, 64, 32};
  }
  return {};
}

}  // namespace glassformer::cpu
