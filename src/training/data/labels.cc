#include "training/data/labels.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/nearest.h"

namespace glassformer {
namespace {

// The whole cell, less spaces around it, as a T.
template <class T>
bool read_number(std::string_view cell, T& value) {
  const size_t begin = cell.find_first_not_of(' ');
  if (begin == std::string_view::npos) return false;
  cell = cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin);
  if (cell.starts_with('+')) cell.remove_prefix(1);
  const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return fault == std::errc() && end == cell.data() + cell.size();
}

std::string shown(std::string_view cell) {
  constexpr size_t kShown = 60;
  return cell.size() <= kShown ? std::string(cell) : std::string(cell.substr(0, kShown)) + "...";
}

}  // namespace

double parse_number(std::string_view cell, const std::string& where) {
  double value = 0;
  require<FileError>(read_number(cell, value) && std::isfinite(value),
                     "{}: expected a number, found '{}'", where, shown(cell));
  return value;
}

double parse_label(std::string_view cell, const LabelOptions& options, const std::string& where) {
  if (options.numbers) return parse_number(cell, where);
  const auto& names = options.names;
  const auto named = std::find(names.begin(), names.end(), cell);
  if (named != names.end()) return static_cast<double>(named - names.begin());
  int64_t label = 0;
  const bool is_number = read_number(cell, label);
  if (!is_number && !names.empty()) {
    const std::vector<std::string_view> views(names.begin(), names.end());
    throw FileError(fmt::format("{}: no label '{}' among {}{}", where, shown(cell), names.size(),
                                nearest_hint(cell, views)));
  }
  require<FileError>(is_number, "{}: expected the number of a label, found '{}'", where,
                     shown(cell));
  const int64_t count = names.empty() ? options.count : static_cast<int64_t>(names.size());
  constexpr int64_t kMaxLabel = int64_t{1} << 31;  // labels are kept in 32 bits
  require<FileError>(label >= 0 && label < (count > 0 ? count : kMaxLabel),
                     "{}: expected a label from 0 to {}, found {}", where,
                     (count > 0 ? count : kMaxLabel) - 1, label);
  return static_cast<double>(label);
}

}  // namespace glassformer
