#pragma once

#include <string>

#include "text/jinja/ast.h"

namespace glassformer::jinja {

// Runs a template. Throws ValueError where it fails, takes too many steps, nests too deep or writes
// too much.
std::string run(const Body& program, const Dict& variables);

}  // namespace glassformer::jinja
