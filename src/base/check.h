#pragma once

#include <utility>

#include <fmt/format.h>

#include "glassformer/base/error.h"

namespace glassformer {

// Throws E with the formatted message unless `condition` holds.
template <class E, class... Args>
void require(bool condition, fmt::format_string<Args...> message, Args&&... args) {
  if (!condition) [[unlikely]]
    throw E(fmt::format(message, std::forward<Args>(args)...));
}

// For what only a bug of ours can break.
inline void internal_check(bool condition, const char* what) {
  if (!condition) [[unlikely]]
    throw InternalError(what);
}

}  // namespace glassformer
