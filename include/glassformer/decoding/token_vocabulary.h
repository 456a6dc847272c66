#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "glassformer/text/tokenizer.h"

namespace glassformer {

// The bytes that each token adds to a text, for constraints and stop strings. Made once for a
// tokenizer and shared by all searches; const methods may run on many threads at once.
class TokenVocabulary {
 public:
  // `size`: the rows of the model's output, which may be more than the tokenizer has tokens.
  TokenVocabulary(const Tokenizer& tokenizer, int64_t size);
  // From plain bytes; an empty string says nothing (a special token).
  explicit TokenVocabulary(std::vector<std::string> tokens, bool drops_first_space = false);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  // Empty for ids that say nothing, or are none.
  std::string_view bytes(int64_t id) const {
    return id >= 0 && id < size() ? std::string_view(tokens_[static_cast<size_t>(id)])
                                  : std::string_view();
  }
  // A space at the beginning of a text is a mark of the tokenizer and not part of the text.
  bool drops_first_space() const { return drops_first_space_; }

  // A token that has bytes, as a step of a walk over all of them in the order of their bytes.
  struct Entry {
    int32_t id;
    uint32_t shared;  // bytes that it begins with as the entry before does
    std::string_view bytes;
  };
  const std::vector<Entry>& sorted() const { return sorted_; }

 private:
  void sort();

  std::vector<std::string> tokens_;
  std::unique_ptr<char[]> joined_;  // the bytes of sorted_ one after the other: a walk is quick
  std::vector<Entry> sorted_;
  bool drops_first_space_ = false;
};

}  // namespace glassformer
