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
  size_t size = 0;
  for (size_t id = 0; id < tokens_.size(); ++id) {
    if (tokens_[id].empty()) continue;
    sorted_.push_back({static_cast<int32_t>(id), 0, tokens_[id]});
    size += tokens_[id].size();
  }
  std::sort(sorted_.begin(), sorted_.end(), [](const Entry& a, const Entry& b) {
    const int order = a.bytes.compare(b.bytes);
    return order != 0 ? order < 0 : a.id < b.id;
  });
  joined_ = std::make_unique<char[]>(size);
  char* end = joined_.get();
  for (size_t i = 0; i < sorted_.size(); ++i) {
    Entry& entry = sorted_[i];
    char* begin = end;
    end = std::copy(entry.bytes.begin(), entry.bytes.end(), begin);
    entry.bytes = {begin, entry.bytes.size()};
    if (i == 0) continue;
    const std::string_view before = sorted_[i - 1].bytes;
    const auto differ =
        std::mismatch(before.begin(), before.end(), entry.bytes.begin(), entry.bytes.end());
    entry.shared = static_cast<uint32_t>(differ.first - before.begin());
  }
}

}  // namespace glassformer
