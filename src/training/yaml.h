#pragma once

#include <string_view>

#include "base/json.h"

namespace glassformer {

// One YAML document as the JSON value that it stands for; null where it is empty. Plain scalars are
// read by YAML 1.2's core schema: 1e-4 is a number, `no` a string. Throws FileError, naming `where`
// and mostly the line, for text that is no YAML, nests deeper than 200 levels or names a key twice,
// and for what has no place in a configuration: anchors and aliases, tags, keys that are no
// scalars, infinities, a second document.
Json parse_yaml(std::string_view text, std::string_view where);

}  // namespace glassformer
