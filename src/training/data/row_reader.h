#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/parallel.h"
#include "glassformer/training/rows.h"
#include "training/data/line_reader.h"

namespace glassformer {

// The rows of one file, of which some columns are asked for. Everything throws FileError with the
// name of the file and the line.
class RowReader {
 public:
  // No columns: all of them, in the order of the file; not for JSONL.
  RowReader(LineReader lines, RowFormat format, std::vector<std::string> columns,
            std::optional<bool> header);

  bool next();
  // Columns that are asked for.
  size_t size() const { return columns_.size(); }
  const std::string& column(size_t i) const { return columns_[i]; }
  size_t cells() const { return cells_.size(); }  // of this row; not of JSONL
  // Of the column, in this row. Numbers and truth values of JSONL are written out.
  std::string cell(size_t i) const;
  // The same of JSONL, whatever is there.
  const Json& field(size_t i) const;
  // A list of JSONL, the elements as cell() gives them.
  std::vector<std::string> list(size_t i) const;
  std::string where() const { return lines_.where(); }

 private:
  bool read_cells();
  void read_csv(std::string& line);
  void find_columns();

  LineReader lines_;
  RowFormat format_;
  std::vector<std::string> columns_;
  std::vector<size_t> places_;  // of the columns among the cells; not of JSONL
  std::vector<std::string> cells_;
  Json object_;
};

// Calls body for every row of every file.
void for_each_row(const RowSource& source, const std::vector<std::string>& columns,
                  FunctionRef<void(const RowReader&)> body);

// A whole column.
std::vector<std::string> read_column(const TextColumn& text);

}  // namespace glassformer
