#pragma once

#include <CLI/CLI.hpp>

namespace glassformer {

// For options that take a whole number from 1 on. CLI11's own check names all that a double holds.
CLI::Validator at_least_one();

}  // namespace glassformer
