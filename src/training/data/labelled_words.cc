#include <algorithm>

#include "base/check.h"
#include "glassformer/training/text_data.h"
#include "training/data/encode_all.h"
#include "training/data/labels.h"
#include "training/data/packed.h"
#include "training/data/row_reader.h"

namespace glassformer {
namespace {

// Where each word ends in the text that they make with spaces between.
struct WordText {
  std::string text;
  std::vector<size_t> ends;
  std::vector<int64_t> labels;
};

// A token belongs to the first word that it covers a byte of, and has its label unless an earlier
// token has.
std::vector<int64_t> targets_of(const WordText& words, const Encoding& encoding) {
  std::vector<int64_t> targets(encoding.size(), kIgnoredTarget);
  size_t next = 0;  // the first word without a token
  for (size_t i = 0; i < encoding.size(); ++i) {
    const TextRange range = encoding.offsets[i];
    if (encoding.special_tokens_mask[i] != 0 || range.begin == range.end) continue;
    while (next < words.ends.size() && words.ends[next] <= range.begin) ++next;
    if (next == words.ends.size()) break;
    const size_t begin = next == 0 ? 0 : words.ends[next - 1] + 1;
    if (range.end <= begin) continue;
    targets[i] = words.labels[next++];
  }
  return targets;
}

WordText read_words(const RowReader& row, const LabelOptions& options) {
  const auto words = row.list(0), labels = row.list(1);
  require<FileError>(words.size() == labels.size(),
                     "{}: expected a label for each of {} words, found {}", row.where(),
                     words.size(), labels.size());
  require<FileError>(!words.empty(), "{}: expected words, found none", row.where());
  WordText result;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) result.text += ' ';
    result.text += words[i];
    result.ends.push_back(result.text.size());
    result.labels.push_back(static_cast<int64_t>(parse_label(labels[i], options, row.where())));
  }
  return result;
}

}  // namespace

LabelledWords::LabelledWords(const LabelledWordsOptions& options, const Tokenizer& tokenizer) {
  require<ValueError>(!options.labels.numbers, "LabelledWords: expected labels that are classes");
  std::vector<WordText> rows;
  std::vector<std::string> texts;
  for_each_row(options.rows, {options.words, options.labels_column}, [&](const RowReader& row) {
    rows.push_back(read_words(row, options.labels));
    texts.push_back(rows.back().text);
  });
  encode_rows(tokenizer, texts, {}, options.max_length, options.rows,
              [&](size_t i, const Encoding& encoding) {
                texts_.add(encoding.ids);
                targets_.add(targets_of(rows[i], encoding));
              });
}

Batch LabelledWords::collate(std::span<const int64_t> examples, RandomKey /*key*/) const {
  check_examples(examples, size());
  Packed packed;
  std::vector<int64_t> targets;
  for (const int64_t example : examples) {
    packed.add(texts_[example]);
    const auto own = targets_[example];
    targets.insert(targets.end(), own.begin(), own.end());
  }
  Batch batch;
  packed.put_into(batch);
  put_targets(batch, targets, {batch.tokens});
  return batch;
}

}  // namespace glassformer
