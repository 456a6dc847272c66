#pragma once

#include <string>
#include <string_view>

#include "glassformer/training/rows.h"

namespace glassformer {

// The number of a class, or the value of a regression, that stands in a cell. Throws FileError,
// naming `where`, for a name that is not there, a class out of range and what is no number.
double parse_label(std::string_view cell, const LabelOptions& options, const std::string& where);

// Throws FileError, naming `where`, for what is no finite number.
double parse_number(std::string_view cell, const std::string& where);

}  // namespace glassformer
