#include <algorithm>

#include "base/check.h"
#include "glassformer/training/text_data.h"
#include "training/data/encode_all.h"
#include "training/data/labels.h"
#include "training/data/packed.h"
#include "training/data/row_reader.h"

namespace glassformer {

LabelledText::LabelledText(const LabelledTextOptions& options, const Tokenizer& tokenizer)
    : numbers_(options.labels.numbers) {
  std::vector<std::string> columns{options.label, options.text};
  if (!options.pair.empty()) columns.push_back(options.pair);
  std::vector<std::string> texts, pairs;
  for_each_row(options.rows, columns, [&](const RowReader& row) {
    labels_.push_back(parse_label(row.cell(0), options.labels, row.where()));
    texts.push_back(row.cell(1));
    if (columns.size() > 2) pairs.push_back(row.cell(2));
  });
  bool typed = false;
  encode_rows(tokenizer, texts, pairs, options.max_length, options.rows,
              [&](size_t /*row*/, const Encoding& encoding) {
                texts_.add(encoding.ids);
                types_.add(encoding.type_ids);
                typed = typed || std::any_of(encoding.type_ids.begin(), encoding.type_ids.end(),
                                             [](int64_t type) { return type != 0; });
              });
  if (!typed) types_ = {};
}

Batch LabelledText::collate(std::span<const int64_t> examples, RandomKey /*key*/) const {
  check_examples(examples, size());
  Packed packed;
  std::vector<int64_t> types;
  for (const int64_t example : examples) {
    packed.add(texts_[example]);
    if (types_.size() == 0) continue;
    const auto own = types_[example];
    types.insert(types.end(), own.begin(), own.end());
  }
  Batch batch;
  packed.put_into(batch);
  if (!types.empty()) batch.input.token_type_ids = from_vector(types, {batch.tokens});
  batch.targets = label_targets(labels_, examples, numbers_);
  batch.target_count = static_cast<int64_t>(examples.size());
  return batch;
}

}  // namespace glassformer
