#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glassformer::testing {

// Lines of text in many scripts, and the odd ones. The twin of tools/fixtures/text_lines.py: the
// same lines for the same seed.
std::vector<std::string> text_lines(size_t count, uint64_t seed = 1);

}  // namespace glassformer::testing
