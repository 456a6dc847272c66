#include <algorithm>

#include "base/check.h"
#include "glassformer/training/text_data.h"
#include "training/data/encode_all.h"
#include "training/data/packed.h"
#include "training/data/row_reader.h"

namespace glassformer {
namespace {

std::string shown_files(const TextColumn& text) { return text.rows.files[0].string(); }

// Rows of ids filled up with `pad` on the right.
struct Padded {
  Padded(size_t rows, size_t length, int64_t pad)
      : ids(rows * length, pad),
        mask(rows * length, 0),
        shape{static_cast<int64_t>(rows), static_cast<int64_t>(length)} {}
  std::vector<int64_t> ids, mask;
  Shape shape;
};

size_t longest(const TokenLists& lists, std::span<const int64_t> examples) {
  size_t length = 0;
  for (const int64_t example : examples) length = std::max(length, lists[example].size());
  return length;
}

}  // namespace

ParallelText::ParallelText(const ParallelTextOptions& options, const Tokenizer& source,
                           const Tokenizer& target)
    : pad_id_(options.pad_id), decoder_start_id_(options.decoder_start_id) {
  const auto sources = read_column(options.source), targets = read_column(options.target);
  require<FileError>(
      sources.size() == targets.size(), "{}: expected as many rows as {} has, {}, found {}",
      shown_files(options.target), shown_files(options.source), sources.size(), targets.size());
  EncodeOptions encode = encode_options(options.max_length);
  if (options.skip_long) encode.truncation.reset();
  const auto encode_side = [&](const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                               TokenLists& lists) {
    std::vector<bool> fits(texts.size()), is_cut(texts.size());
    encode_all(tokenizer, texts, {}, encode, [&](size_t i, const Encoding& encoding) {
      const auto length = static_cast<int64_t>(encoding.size());
      fits[i] = !texts[i].empty() && length > 0 &&
                (options.max_length == 0 || length <= options.max_length);
      is_cut[i] = !encoding.overflowing.empty();
      lists.add(encoding.ids);
    });
    return std::pair(std::move(fits), std::move(is_cut));
  };
  TokenLists source_ids, target_ids;
  const auto [source_fits, source_cut] = encode_side(source, sources, source_ids);
  const auto [target_fits, target_cut] = encode_side(target, targets, target_ids);
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!source_fits[i] || !target_fits[i]) {
      ++skipped_;
      continue;
    }
    cut_ += source_cut[i] + target_cut[i];
    sources_.add(source_ids[static_cast<int64_t>(i)]);
    targets_.add(target_ids[static_cast<int64_t>(i)]);
  }
}

int64_t ParallelText::length(int64_t example) const {
  return std::max(sources_.length(example), targets_.length(example));
}

Batch ParallelText::collate(std::span<const int64_t> examples, RandomKey /*key*/) const {
  check_examples(examples, size());
  const size_t rows = examples.size();
  const size_t width = longest(sources_, examples), depth = longest(targets_, examples);
  Padded source(rows, width, pad_id_), decoder(rows, depth, pad_id_);
  std::vector<int64_t> targets(rows * depth, kIgnoredTarget);
  Batch batch;
  for (size_t row = 0; row < rows; ++row) {
    const auto from = sources_[examples[row]], to = targets_[examples[row]];
    std::copy(from.begin(), from.end(), source.ids.begin() + static_cast<ptrdiff_t>(row * width));
    std::fill_n(source.mask.begin() + static_cast<ptrdiff_t>(row * width), from.size(), 1);
    const auto at = static_cast<ptrdiff_t>(row * depth);
    std::copy(to.begin(), to.end(), targets.begin() + at);
    decoder.ids[row * depth] = decoder_start_id_;
    std::copy(to.begin(), to.end() - 1, decoder.ids.begin() + at + 1);
    std::fill_n(decoder.mask.begin() + at, to.size(), 1);
    batch.tokens += static_cast<int64_t>(from.size() + to.size());
    batch.target_count += static_cast<int64_t>(to.size());
  }
  batch.input.input_ids = from_vector(source.ids, source.shape);
  batch.input.attention_mask = from_vector(source.mask, source.shape);
  batch.input.decoder_input_ids = from_vector(decoder.ids, decoder.shape);
  batch.input.decoder_attention_mask = from_vector(decoder.mask, decoder.shape);
  batch.targets = from_vector(targets, decoder.shape);
  return batch;
}

}  // namespace glassformer
