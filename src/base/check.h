#pragma once

#include <utility>

#include <fmt/format.h>

#include "glassformer/base/error.h"

namespace glassformer {

template <class E, class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void throw_formatted(fmt::format_string<Args...> message,
                                                            Args&&... args) {
  throw E(fmt::format(message, std::forward<Args>(args)...));
}

// Throws E with the formatted message unless `condition` holds. Always inlined, for the compiler
// weighs the message that is hardly ever made: a step of a decoder makes thousands of checks.
template <class E, class... Args>
[[gnu::always_inline]] inline void require(bool condition, fmt::format_string<Args...> message,
                                           Args&&... args) {
  if (!condition) [[unlikely]]
    throw_formatted<E>(message, std::forward<Args>(args)...);
}

// For what only a bug of ours can break.
inline void internal_check(bool condition, const char* what) {
  if (!condition) [[unlikely]]
    throw InternalError(what);
}

}  // namespace glassformer
