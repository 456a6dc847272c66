#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "glassformer/training/metrics.h"

namespace glassformer {

// Text as Python's str has it, which the scores were defined with.

// What str.split() splits at.
bool is_python_space(char32_t c);
std::vector<std::u32string> split(std::u32string_view text);
std::u32string_view rstrip(std::u32string_view text);
// Full lower case, with the final sigma.
std::u32string lower(std::u32string_view text);

// The characters of a text that may be malformed.
std::u32string decode(std::string_view text);

// Throws ValueError, naming the score, unless there is a sentence, a reference, and each reference
// has all sentences.
void check_corpus(const char* score, std::span<const std::string> hypotheses,
                  References references);

}  // namespace glassformer
