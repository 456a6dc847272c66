#include "training/data/row_reader.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/nearest.h"

namespace glassformer {
namespace {

constexpr size_t kMaxCells = 1 << 20;

// A column's name that is its number; kMaxCells where it is none.
size_t column_number(std::string_view name) {
  size_t number = 0;
  const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), number);
  return fault == std::errc() && end == name.data() + name.size() ? std::min(number, kMaxCells)
                                                                  : kMaxCells;
}

std::string written_out(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

RowReader::RowReader(LineReader lines, RowFormat format, std::vector<std::string> columns,
                     std::optional<bool> header)
    : lines_(std::move(lines)), format_(format), columns_(std::move(columns)) {
  if (format == RowFormat::kJsonl) return;
  if (format == RowFormat::kLines) {
    columns_.resize(1);
    places_ = {0};
    return;
  }
  const bool numbered =
      !columns_.empty() && std::all_of(columns_.begin(), columns_.end(), [](const auto& name) {
        return column_number(name) < kMaxCells;
      });
  if (header.value_or(!numbered)) {
    require<FileError>(read_cells(), "{}: expected a line that names the columns, found nothing",
                       lines_.name());
    find_columns();
    return;
  }
  for (const std::string& name : columns_) {
    places_.push_back(column_number(name));
    require<FileError>(places_.back() < kMaxCells,
                       "{}: expected the number of a column, from 0, where no header names them, "
                       "found '{}'",
                       lines_.name(), name);
  }
}

void RowReader::find_columns() {
  if (columns_.empty()) columns_ = cells_;
  const std::vector<std::string_view> names(cells_.begin(), cells_.end());
  for (const std::string& name : columns_) {
    const auto found = std::find(names.begin(), names.end(), name);
    const size_t place =
        found != names.end() ? static_cast<size_t>(found - names.begin()) : column_number(name);
    require<FileError>(place < names.size(), "{}: no column '{}' among {}{}", where(), name,
                       names.size(), nearest_hint(name, names));
    places_.push_back(place);
  }
}

bool RowReader::next() {
  if (!read_cells()) return false;
  if (format_ == RowFormat::kJsonl) return true;
  if (columns_.empty()) {  // no header, and all are asked for
    for (size_t i = 0; i < cells_.size(); ++i) {
      columns_.push_back(std::to_string(i));
      places_.push_back(i);
    }
  }
  for (size_t i = 0; i < places_.size(); ++i)
    require<FileError>(places_[i] < cells_.size(),
                       "{}: expected at least {} columns, for '{}', found {}", where(),
                       places_[i] + 1, columns_[i], cells_.size());
  return true;
}

// One row into cells_ or object_; false at the end.
bool RowReader::read_cells() {
  std::string line;
  do {
    if (!lines_.next(line, format_ == RowFormat::kCsv)) return false;
  } while (format_ != RowFormat::kLines && (line.empty() || line == "\r"));
  cells_.clear();
  switch (format_) {
    case RowFormat::kLines: cells_.push_back(std::move(line)); break;
    case RowFormat::kJsonl:
      object_ = parse_json(line, where());
      require<FileError>(object_.is_object(), "{}: expected a JSON object, found {}", where(),
                         describe(object_));
      break;
    case RowFormat::kCsv: read_csv(line); break;
    case RowFormat::kTsv:
      for (size_t at = 0; at != std::string::npos;) {
        const size_t end = line.find('\t', at);
        cells_.push_back(line.substr(at, end - at));
        at = end == std::string::npos ? end : end + 1;
        require<FileError>(cells_.size() <= kMaxCells, "{}: expected at most {} columns", where(),
                           kMaxCells);
      }
      break;
  }
  return true;
}

// The row that begins with `line`, which a quoted cell may continue on the next ones.
void RowReader::read_csv(std::string& line) {
  const std::string begin = where();
  size_t at = 0;
  for (bool more = true; more;) {
    require<FileError>(cells_.size() < kMaxCells, "{}: expected at most {} columns", begin,
                       kMaxCells);
    std::string& cell = cells_.emplace_back();
    if (at == line.size() || line[at] != '"') {
      const size_t end = std::min(line.find(',', at), line.size());
      cell = line.substr(at, end - at);
      more = end < line.size();
      if (!more && cell.ends_with('\r')) cell.pop_back();
      at = end + 1;
      continue;
    }
    for (++at;; ++at) {
      if (at == line.size()) {
        require<FileError>(lines_.next(line, true), "{}: a quote is not closed", begin);
        cell += '\n';
        at = static_cast<size_t>(-1);
      } else if (line[at] != '"') {
        cell += line[at];
      } else if (at + 1 < line.size() && line[at + 1] == '"') {
        cell += line[++at];
      } else {
        break;
      }
    }
    if (++at < line.size() && line[at] == '\r') ++at;
    require<FileError>(at >= line.size() || line[at] == ',',
                       "{}: expected a comma after a closing quote, found '{}'", where(),
                       line.substr(at, 10));
    more = at < line.size();
    ++at;
  }
}

const Json& RowReader::field(size_t i) const {
  require<FileError>(format_ == RowFormat::kJsonl, "{}: expected JSON lines, for '{}'",
                     lines_.name(), columns_[i]);
  const auto found = object_.find(columns_[i]);
  if (found != object_.end() && !found->is_null()) return *found;
  std::vector<std::string_view> names;
  for (const auto& [name, value] : object_.items()) names.push_back(name);
  throw FileError(fmt::format("{}: no field '{}' among {}{}", where(), columns_[i], names.size(),
                              nearest_hint(columns_[i], names)));
}

std::string RowReader::cell(size_t i) const {
  if (format_ != RowFormat::kJsonl) return cells_[places_[i]];
  const Json& value = field(i);
  require<FileError>(value.is_primitive(), "{}: expected '{}' to be a string or a number, found {}",
                     where(), columns_[i], describe(value));
  return written_out(value);
}

std::vector<std::string> RowReader::list(size_t i) const {
  const Json& value = field(i);
  require<FileError>(value.is_array(), "{}: expected '{}' to be a list, found {}", where(),
                     columns_[i], describe(value));
  std::vector<std::string> texts;
  for (const Json& element : value) {
    require<FileError>(element.is_primitive(),
                       "{}: expected '{}' to be a list of strings or numbers, found {} in it",
                       where(), columns_[i], describe(element));
    texts.push_back(written_out(element));
  }
  return texts;
}

void for_each_row(const RowSource& source, const std::vector<std::string>& columns,
                  FunctionRef<void(const RowReader&)> body) {
  require<ValueError>(!source.files.empty(), "training data: expected at least one file");
  for (const auto& path : source.files) {
    RowReader rows(LineReader(path), source.format, columns, source.header);
    while (rows.next()) body(rows);
  }
}

std::vector<std::string> read_column(const TextColumn& text) {
  std::vector<std::string> cells;
  for_each_row(text.rows, {text.column},
               [&](const RowReader& row) { cells.push_back(row.cell(0)); });
  return cells;
}

}  // namespace glassformer
