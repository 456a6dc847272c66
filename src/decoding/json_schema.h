#pragma once

#include <string>

#include "decoding/pattern.h"

namespace glassformer {

// The JSON texts that fit a schema, as a regular language: properties in the order of the schema, a
// space at most after ':' and ',', numbers of bounded length, no \u escapes. docs/generation.md
// lists the keywords. Throws ValueError, naming the keyword and its place, for others, for a $ref
// to itself and for a schema that nothing fits.
PatternPtr parse_json_schema(const std::string& schema);

}  // namespace glassformer
