#include <algorithm>

#include "base/check.h"
#include "glassformer/training/language_data.h"
#include "training/data/encode_all.h"
#include "training/data/masker.h"
#include "training/data/packed.h"
#include "training/data/row_reader.h"

namespace glassformer {

PackedLines::PackedLines(const PackedLinesOptions& options, const Tokenizer& tokenizer)
    : masker_(Masker::make(options.masking, tokenizer)) {
  const std::vector<std::string> texts = read_column(options.text);
  encode_all(
      tokenizer, texts, {}, encode_options(options.max_length),
      [&](size_t i, const Encoding& encoding) {
        std::vector<int64_t> ids = encoding.ids;
        bool is_cut = !encoding.overflowing.empty();
        if (options.end_id && !texts[i].empty() && (ids.empty() || ids.back() != *options.end_id)) {
          const bool full = static_cast<int64_t>(ids.size()) == options.max_length;
          if (full) ids.pop_back();
          is_cut = is_cut || full;
          ids.push_back(*options.end_id);
        }
        const bool usable = masker_
                                ? std::any_of(ids.begin(), ids.end(),
                                              [&](int64_t id) { return masker_->can_choose(id); })
                                : !texts[i].empty() && ids.size() > 1;
        skipped_ += !usable;
        if (!usable) return;
        cut_ += is_cut;
        lines_.add(ids);
      });
}

Batch PackedLines::collate(std::span<const int64_t> examples, RandomKey key) const {
  check_examples(examples, size());
  Packed packed;
  std::vector<int64_t> targets;
  for (const int64_t example : examples) {
    const auto ids = lines_[example];
    packed.add(ids);
    if (masker_) {
      const auto asked = (*masker_)(packed.last(), {key, example});
      targets.insert(targets.end(), asked.begin(), asked.end());
    } else {
      targets.insert(targets.end(), ids.begin() + 1, ids.end());
      targets.push_back(kIgnoredTarget);
    }
  }
  Batch batch;
  packed.put_into(batch);
  put_targets(batch, targets, {batch.tokens});
  return batch;
}

}  // namespace glassformer
