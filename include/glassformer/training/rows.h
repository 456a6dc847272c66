#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace glassformer {

enum class RowFormat : uint8_t {
  kLines,  // a line is a row of one column
  kTsv,    // columns between tabs; there are no quotes
  kCsv,    // RFC 4180: "a, ""b""" is one column, and may go on over lines
  kJsonl,  // a line is a JSON object, its fields are the columns
};

// Files of rows, plain or gzip. What is no UTF-8 is read as U+FFFD; empty lines are passed over,
// except by kLines.
struct RowSource {
  std::vector<std::filesystem::path> files = {};
  RowFormat format = RowFormat::kLines;
  // TSV and CSV: the first line of a file names its columns. Where it has no such name, a column's
  // name is its number, from 0. Not given: it does, unless every column asked for is a number.
  std::optional<bool> header = {};
};

// One column of it. kLines has but one, whose name does not matter.
struct TextColumn {
  RowSource rows = {};
  std::string column = {};
};

// What stands in a column of labels.
struct LabelOptions {
  std::vector<std::string> names = {};  // of the classes, in their order; a number will do too
  int64_t count = 0;                    // classes, where they have no names; 0 takes any number
  bool numbers = false;                 // the values of a regression, no classes
};

}  // namespace glassformer
