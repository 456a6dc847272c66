#include <algorithm>

#include "base/check.h"
#include "glassformer/training/text_data.h"
#include "training/data/encode_all.h"
#include "training/data/packed.h"
#include "training/data/row_reader.h"

namespace glassformer {

TextPairs::TextPairs(const TextPairsOptions& options, const Tokenizer& tokenizer) {
  std::vector<std::string> anchors, positives;
  for_each_row(options.rows, {options.anchor, options.positive}, [&](const RowReader& row) {
    anchors.push_back(row.cell(0));
    positives.push_back(row.cell(1));
  });
  const auto encode = [&](const std::vector<std::string>& texts, TokenLists& lists) {
    encode_rows(tokenizer, texts, {}, options.max_length, options.rows,
                [&](size_t /*row*/, const Encoding& encoding) { lists.add(encoding.ids); });
  };
  encode(anchors, anchors_);
  encode(positives, positives_);
}

int64_t TextPairs::length(int64_t example) const {
  return std::max(anchors_.length(example), positives_.length(example));
}

Batch TextPairs::collate(std::span<const int64_t> examples, RandomKey /*key*/) const {
  check_examples(examples, size());
  Packed packed;
  for (const int64_t example : examples) packed.add(anchors_[example]);
  for (const int64_t example : examples) packed.add(positives_[example]);
  Batch batch;
  packed.put_into(batch);
  batch.target_count = static_cast<int64_t>(examples.size());
  return batch;
}

}  // namespace glassformer
