#pragma once

#include <span>
#include <string>
#include <string_view>

namespace glassformer {

// For messages about a name that is not there: ", the nearest is 'a'" or ", the nearest are 'a',
// 'b' and 'c'", those of at most three `names` with the fewest letters to change; empty where
// nothing comes near.
std::string nearest_hint(std::string_view name, std::span<const std::string_view> names);

}  // namespace glassformer
