#include "text/scripts.h"

#include <algorithm>
#include <iterator>

namespace glassformer {
namespace {

struct ScriptRange {
  uint32_t first;
  uint8_t number;
};
#include "text/script_table.inc"

}  // namespace

uint8_t script_of(char32_t c) {
  const auto* range =
      std::upper_bound(std::begin(kScriptRanges), std::end(kScriptRanges), c,
                       [](char32_t value, const ScriptRange& r) { return value < r.first; });
  return std::prev(range)->number;
}

}  // namespace glassformer
