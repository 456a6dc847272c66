#include <algorithm>

#include "base/check.h"
#include "glassformer/training/language_data.h"
#include "training/data/line_reader.h"
#include "training/data/masker.h"
#include "training/data/packed.h"

namespace glassformer {
namespace {

constexpr size_t kRead = 1 << 20;
constexpr size_t kEncoded = size_t{16} << 20;  // bytes of text at a time

void append_file(const std::filesystem::path& path, const Tokenizer& tokenizer, TokenLists& parts) {
  EncodeOptions options;
  options.file_settings = false;
  options.special_tokens = false;
  const ByteSource source = open_bytes(path);
  std::string text;
  size_t enough = kEncoded;
  for (bool more = true; more;) {
    const size_t before = text.size();
    text.resize(before + kRead);
    const size_t count = source(std::span(text).subspan(before));
    text.resize(before + count);
    more = count > 0;
    if (more && text.size() < enough) continue;
    const size_t end = more ? text.rfind('\n') + 1 : text.size();
    if (end > 0) parts.add(tokenizer.encode(std::string_view(text).substr(0, end), options).ids);
    text.erase(0, end);
    // A line that is longer than that is waited for, without a look at every piece of it.
    enough = std::max(kEncoded, 2 * text.size());
  }
}

// The special tokens that stand around a text.
void find_edges(const Tokenizer& tokenizer, std::vector<int64_t>& before,
                std::vector<int64_t>& after) {
  EncodeOptions options;
  options.file_settings = false;
  const Encoding encoding = tokenizer.encode("a", options);
  bool text_seen = false;
  for (size_t i = 0; i < encoding.size(); ++i) {
    if (encoding.special_tokens_mask[i] == 0)
      text_seen = true;
    else
      (text_seen ? after : before).push_back(encoding.ids[i]);
  }
}

}  // namespace

TextBlocks::TextBlocks(const TextBlocksOptions& options, const Tokenizer& tokenizer)
    : block_(options.block),
      stride_(options.stride == 0 ? options.block : options.stride),
      masker_(Masker::make(options.masking, tokenizer)) {
  require<ValueError>(block_ > 0 && stride_ > 0,
                      "TextBlocks: expected a positive block and stride, found {} and {}",
                      options.block, options.stride);
  require<ValueError>(!options.files.empty(), "TextBlocks: expected at least one file");
  if (masker_) find_edges(tokenizer, before_, after_);
  const auto edges = static_cast<int64_t>(before_.size() + after_.size());
  taken_ = masker_ ? block_ - edges : block_ + 1;
  require<ValueError>(taken_ > 0,
                      "TextBlocks: a block of {} tokens has no room beside {} special "
                      "ones",
                      block_, edges);
  TokenLists parts;
  for (const auto& path : options.files) {
    append_file(path, tokenizer, parts);
    if (options.end_id) parts.add(std::span<const int64_t>(&*options.end_id, 1));
  }
  ids_.assign(parts.ids().begin(), parts.ids().end());
  require<ValueError>(tokens() >= taken_,
                      "TextBlocks: expected at least {} tokens for one example, found {} in {} and "
                      "{} more files",
                      taken_, tokens(), options.files[0].string(), options.files.size() - 1);
}

int64_t TextBlocks::size() const { return (tokens() - taken_) / stride_ + 1; }

int64_t TextBlocks::length(int64_t /*example*/) const { return block_; }

Batch TextBlocks::collate(std::span<const int64_t> examples, RandomKey key) const {
  check_examples(examples, size());
  const auto rows = static_cast<int64_t>(examples.size());
  std::vector<int64_t> ids, targets;
  ids.reserve(static_cast<size_t>(rows * block_));
  targets.reserve(ids.capacity());
  Batch batch;
  for (const int64_t example : examples) {
    const int32_t* from = ids_.data() + example * stride_;
    if (!masker_) {
      ids.insert(ids.end(), from, from + block_);
      targets.insert(targets.end(), from + 1, from + 1 + block_);
      continue;
    }
    const size_t begin = ids.size();
    ids.insert(ids.end(), before_.begin(), before_.end());
    ids.insert(ids.end(), from, from + taken_);
    ids.insert(ids.end(), after_.begin(), after_.end());
    const auto asked = (*masker_)(std::span(ids).subspan(begin), {key, example});
    targets.insert(targets.end(), asked.begin(), asked.end());
  }
  batch.tokens = rows * block_;
  batch.input.input_ids = from_vector(ids, {rows, block_});
  put_targets(batch, targets, {rows, block_});
  return batch;
}

}  // namespace glassformer
