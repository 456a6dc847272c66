#pragma once

#include <string>
#include <vector>

#include "glassformer/training/dataset.h"
#include "glassformer/training/rows.h"

namespace glassformer {

// Of each feature.
struct TableScale {
  std::vector<double> mean, deviation;
};

struct TableOptions {
  RowSource rows = {.format = RowFormat::kCsv};  // TSV or CSV
  std::string target = {};                       // the column's name; empty: the last column
  LabelOptions labels = {};
  bool standardise = false;  // features to mean 0 and deviation 1
  TableScale scale = {};     // with it: those of another table; empty: of this one
};

// Rows of numbers: features [rows, columns - 1], targets int64 [rows], or float32 [rows, 1] for a
// regression.
class Table : public Dataset {
 public:
  // Throws FileError, naming file and line, for what is no number and for rows of other lengths.
  explicit Table(const TableOptions& options);

  int64_t size() const override { return static_cast<int64_t>(targets_.size()); }
  int64_t length(int64_t /*example*/) const override { return 1; }
  Batch collate(std::span<const int64_t> examples, RandomKey key) const override;
  int64_t columns() const { return columns_; }        // of features
  const TableScale& scale() const { return scale_; }  // empty where nothing is standardised

 private:
  std::vector<float> features_;
  std::vector<double> targets_;
  int64_t columns_ = 0;
  TableScale scale_;
  bool numbers_;
};

}  // namespace glassformer
