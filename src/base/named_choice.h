#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace glassformer {

// The value that a configuration means by `name`. Throws ValueError, with what there is.
template <class T, class Choices = std::initializer_list<std::pair<const char*, T>>>
T named_choice(std::string_view what, std::string_view name, const Choices& choices) {
  std::string known;
  for (const auto& [spelling, value] : choices) {
    if (name == spelling) return value;
    if (!known.empty()) known += ", ";
    known += spelling;
  }
  throw ValueError(fmt::format("{}: expected one of {}, found '{}'", what, known, name));
}

}  // namespace glassformer
