#include "glassformer/text/decode_stream.h"

#include <algorithm>

#include "text/utf8.h"

namespace glassformer {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
// A character has at most 4 bytes, so tokens that are no text after this many never will be.
constexpr size_t kMostHeld = 8;

}  // namespace

DecodeStream::DecodeStream(Tokenizer tokenizer, bool skip_special)
    : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

std::string DecodeStream::fresh(const std::string& text) const {
  size_t common = 0;
  while (common < std::min(text.size(), prefix_.size()) && text[common] == prefix_[common])
    ++common;
  // Later bytes can turn a character that was shown into another; never begin inside one.
  while (common > 0 && common < text.size() && is_continuation(text[common])) --common;
  return text.substr(common);
}

std::string DecodeStream::add(int64_t id) {
  ids_.push_back(id);
  const std::string text = tokenizer_.decode(ids_, skip_special_);
  if (text.ends_with(kReplacement) && ids_.size() - shown_ < kMostHeld) return {};
  if (text.size() <= prefix_.size()) return {};
  std::string result = fresh(text);
  // Of what is shown only the last part is kept, as context: it must be some text, because what
  // comes first is decoded in another way (leading spaces go).
  const std::vector<int64_t> recent(ids_.begin() + static_cast<std::ptrdiff_t>(shown_), ids_.end());
  std::string recent_text = tokenizer_.decode(recent, skip_special_);
  if (recent_text.empty()) {
    prefix_ = text;
  } else {
    ids_ = recent;
    prefix_ = std::move(recent_text);
  }
  shown_ = ids_.size();
  return result;
}

std::string DecodeStream::finish() {
  std::string result = fresh(tokenizer_.decode(ids_, skip_special_));
  ids_.clear();
  shown_ = 0;
  prefix_.clear();
  return result;
}

}  // namespace glassformer
