#include "glassformer/training/token_lists.h"

#include <limits>

#include "base/check.h"

namespace glassformer {

void TokenLists::add(std::span<const int64_t> ids) {
  for (const int64_t id : ids) {
    require<ValueError>(
        id >= std::numeric_limits<int32_t>::min() && id <= std::numeric_limits<int32_t>::max(),
        "training data: expected token ids of 32 bits, found {}", id);
    ids_.push_back(static_cast<int32_t>(id));
  }
  starts_.push_back(static_cast<int64_t>(ids_.size()));
}

void TokenLists::add(std::span<const int32_t> ids) {
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  starts_.push_back(static_cast<int64_t>(ids_.size()));
}

}  // namespace glassformer
