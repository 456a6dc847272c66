#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "glassformer/training/table_data.h"
#include "training/data/labels.h"
#include "training/data/packed.h"
#include "training/data/row_reader.h"

namespace glassformer {
namespace {

// The deviation of a column that never changes is taken as 1: it becomes 0.
TableScale scale_of(const std::vector<float>& features, size_t columns) {
  TableScale scale{std::vector<double>(columns, 0), std::vector<double>(columns, 0)};
  const auto rows = static_cast<double>(features.size()) / static_cast<double>(columns);
  for (size_t i = 0; i < features.size(); ++i) scale.mean[i % columns] += features[i] / rows;
  for (size_t i = 0; i < features.size(); ++i) {
    const double away = features[i] - scale.mean[i % columns];
    scale.deviation[i % columns] += away * away / rows;
  }
  for (double& value : scale.deviation) value = value > 0 ? std::sqrt(value) : 1;
  return scale;
}

size_t target_column(const RowReader& row, const std::string& name) {
  if (name.empty()) return row.size() - 1;
  for (size_t i = 0; i < row.size(); ++i)
    if (row.column(i) == name) return i;
  throw FileError(fmt::format("{}: no column '{}' among {}", row.where(), name, row.size()));
}

}  // namespace

Table::Table(const TableOptions& options) : numbers_(options.labels.numbers) {
  require<ValueError>(
      options.rows.format == RowFormat::kCsv || options.rows.format == RowFormat::kTsv,
      "Table: expected CSV or TSV files");
  for_each_row(options.rows, {}, [&](const RowReader& row) {
    const size_t target = target_column(row, options.target);
    if (columns_ == 0) columns_ = static_cast<int64_t>(row.size()) - 1;
    require<FileError>(columns_ > 0 && row.cells() == static_cast<size_t>(columns_) + 1,
                       "{}: expected {} columns, found {}", row.where(),
                       std::max<int64_t>(columns_ + 1, 2), row.cells());
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == target)
        targets_.push_back(parse_label(row.cell(i), options.labels, row.where()));
      else
        features_.push_back(static_cast<float>(parse_number(row.cell(i), row.where())));
    }
  });
  if (!options.standardise || features_.empty()) return;
  const auto columns = static_cast<size_t>(columns_);
  scale_ = options.scale.mean.empty() ? scale_of(features_, columns) : options.scale;
  require<ValueError>(scale_.mean.size() == columns && scale_.deviation.size() == columns,
                      "Table: expected the scale of {} columns, found {} and {}", columns,
                      scale_.mean.size(), scale_.deviation.size());
  for (size_t i = 0; i < features_.size(); ++i)
    features_[i] = static_cast<float>((features_[i] - scale_.mean[i % columns]) /
                                      scale_.deviation[i % columns]);
}

Batch Table::collate(std::span<const int64_t> examples, RandomKey /*key*/) const {
  check_examples(examples, size());
  std::vector<float> features;
  for (const int64_t example : examples) {
    const auto begin = features_.begin() + example * columns_;
    features.insert(features.end(), begin, begin + columns_);
  }
  Batch batch;
  batch.tokens = batch.target_count = static_cast<int64_t>(examples.size());
  batch.features = from_vector(features, {batch.tokens, columns_});
  batch.targets = label_targets(targets_, examples, numbers_);
  return batch;
}

}  // namespace glassformer
