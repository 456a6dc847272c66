#pragma once

#include <string_view>

#include "decoding/pattern.h"

namespace glassformer {

// The language of a regular expression, which is matched against a whole text: characters, `.`,
// classes, \d \w \s (ASCII) and their opposites, escapes, groups, alternation, * + ? {n} {n,} {n,m}
// (lazy or not is the same language), ^ at the beginning and $ at the end. Throws ValueError,
// naming it and its place, for anything else.
//
// With `in_json_string` the text is what stands between the quotes of a JSON string: characters
// that need an escape there are written with it.
PatternPtr parse_regex(std::string_view regex, bool in_json_string = false);

// One character of the set, as it stands in a JSON string.
PatternPtr json_characters(const CharacterSet& set);

}  // namespace glassformer
