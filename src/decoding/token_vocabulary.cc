#include "glassformer/decoding/token_vocabulary.h"

#include <algorithm>

#include "base/check.h"

namespace glassformer {
namespace {

// Whether decoding loses the space that some token begins with.
bool loses_first_space(const Tokenizer& tokenizer, const std::vector<std::string>& tokens) {
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].size() < 2 || tokens[id][0] != ' ') continue;
    const int64_t ids[] = {static_cast<int64_t>(id)};
    return tokenizer.decode(ids, false) == std::string_view(tokens[id]).substr(1);
  }
  return false;
}

}  // namespace

TokenVocabulary::TokenVocabulary(const Tokenizer& tokenizer, int64_t size) {
  require<ValueError>(size >= 0 && size <= INT32_MAX, "a vocabulary of {} tokens", size);
  tokens_.reserve(static_cast<size_t>(size));
  for (int64_t id = 0; id < size; ++id) tokens_.push_back(tokenizer.token_bytes(id));
  drops_first_space_ = loses_first_space(tokenizer, tokens_);
  sort();
}

TokenVocabulary::TokenVocabulary(std::vector<std::string> tokens, bool drops_first_space)
    : tokens_(std::move(tokens)), drops_first_space_(drops_first_space) {
  sort();
}

void TokenVocabulary::sort() {
  for (size_t id = 0; id < tokens_.size(); ++id)
    if (!tokens_[id].empty()) sorted_.push_back(static_cast<int32_t>(id));
  std::sort(sorted_.begin(), sorted_.end(), [&](int32_t a, int32_t b) {
    const int order = bytes(a).compare(bytes(b));
    return order != 0 ? order < 0 : a < b;
  });
  shared_.assign(sorted_.size(), 0);
  for (size_t i = 1; i < sorted_.size(); ++i) {
    const std::string_view a = bytes(sorted_[i - 1]), b = bytes(sorted_[i]);
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    shared_[i] =
        static_cast<uint16_t>(std::min<std::ptrdiff_t>(differ.first - a.begin(), UINT16_MAX));
  }
}

}  // namespace glassformer
