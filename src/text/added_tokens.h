#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "text/normalizer.h"
#include "text/pieces.h"
#include "text/trie.h"
#include "text/vocabulary.h"

namespace glassformer {

// A token that stands beside the model's own: found in the text as it is, whatever the model would
// make of it.
struct AddedToken {
  std::string content;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the spaces before it along
  bool rstrip = false;       // and those after it
  bool normalized = true;    // looked for in the normalised text
  bool special = false;      // left out of decoded text when asked
  bool found = true;         // looked for in text at all
};

class AddedTokens {
 public:
  AddedTokens() = default;

  // Numbers as the `tokenizers` package gives them: that of the model, where it has the token,
  // otherwise the next free one. `normalizer` may be null.
  void add(const std::vector<AddedToken>& tokens, const Vocabulary& model,
           const Normalizer* normalizer);

  // Cuts out those that are looked for in the original text, or in the normalised one.
  // `split_special`: special tokens are text like any other.
  void extract(Pieces& pieces, bool normalized, bool split_special) const;

  std::optional<uint32_t> find(std::string_view token) const;
  // How the token is written for decoding: normalised, where it is looked for so.
  const std::string* token(uint32_t id) const;
  const AddedToken* get(uint32_t id) const;
  bool is_special(std::string_view token) const { return special_.contains(std::string(token)); }
  bool is_special_id(uint32_t id) const {
    const AddedToken* token = get(id);
    return token != nullptr && token->special;
  }
  // Tokens that the model does not have.
  size_t count_beyond(const Vocabulary& model) const;
  uint64_t id_end() const;

 private:
  struct Entry {
    AddedToken token;
    std::string spelling;
  };
  void rebuild();

  std::unordered_map<std::string, uint32_t> ids_;
  std::unordered_map<uint32_t, Entry> entries_;
  std::unordered_set<std::string> special_;
  Trie plain_;
  Trie normalized_;
};

// The list `added_tokens` of a tokenizer file.
std::vector<AddedToken> read_added_tokens(const Json& list, const std::string& where);

}  // namespace glassformer
