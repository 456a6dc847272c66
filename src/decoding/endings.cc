#include "decoding/endings.h"

#include <algorithm>

#include "base/check.h"
#include "glassformer/decoding/token_vocabulary.h"

namespace glassformer {

Endings::Endings(const GenerationOptions& options, const SearchInput& input)
    : lengths_(lengths_of(options, input)),
      eos_(options.eos_token_id),
      stop_strings_(options.stop_strings),
      vocabulary_(input.vocabulary) {
  require<ValueError>(stop_strings_.empty() || vocabulary_ != nullptr,
                      "stop_strings need a tokenizer, and there is none");
  for (const std::string& stop : stop_strings_) longest_ = std::max(longest_, stop.size());
}

std::optional<Ending> Endings::after(std::span<const int64_t> ids, int64_t token) {
  if (std::find(eos_.begin(), eos_.end(), token) != eos_.end()) return Ending{FinishReason::kEos};
  if (!stop_strings_.empty())
    if (const std::string* stop =
            stop_string(ids.subspan(static_cast<size_t>(lengths_.prompt)), token))
      return Ending{FinishReason::kStopString, *stop};
  if (static_cast<int64_t>(ids.size()) + 1 >= lengths_.max) return Ending{FinishReason::kLength};
  return std::nullopt;
}

const std::string* Endings::stop_string(std::span<const int64_t> said, int64_t token) {
  const std::string_view bytes = vocabulary_->bytes(token);
  // A string that ends inside this token began at most so many bytes before it.
  size_t first = said.size(), before = 0;
  while (first > 0 && before + 1 < longest_) before += vocabulary_->bytes(said[--first]).size();
  tail_.clear();
  for (; first < said.size(); ++first) tail_ += vocabulary_->bytes(said[first]);
  tail_ += bytes;
  const std::string* found = nullptr;
  size_t begin = std::string::npos;
  for (const std::string& stop : stop_strings_) {
    const size_t at = tail_.find(stop, before + 1 > stop.size() ? before + 1 - stop.size() : 0);
    if (at >= begin) continue;
    begin = at;
    found = &stop;
  }
  return found;
}

}  // namespace glassformer
