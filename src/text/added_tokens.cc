#include "text/added_tokens.h"

#include <algorithm>

#include "base/check.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

bool is_word_at(std::string_view text, size_t at) {
  return at < text.size() && has_flag(next_character(text, at), kWord);
}
bool is_word_before(std::string_view text, size_t at) {
  return at > 0 && has_flag(last_character(text.substr(0, at)), kWord);
}

size_t spaces_before(std::string_view text, size_t at) {
  while (at > 0) {
    const char32_t c = last_character(text.substr(0, at));
    if (!is_space(c)) break;
    at -= utf8_size(c);
  }
  return at;
}
size_t spaces_after(std::string_view text, size_t at) {
  for (size_t next = at; at < text.size() && is_space(next_character(text, next));) at = next;
  return at;
}

}  // namespace

void AddedTokens::add(const std::vector<AddedToken>& tokens, const Vocabulary& model,
                      const Normalizer* normalizer) {
  uint64_t next = std::max<uint64_t>(id_end(), model.size());
  for (const AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    auto id = find(token.content);
    if (!id) id = model.find(token.content);
    if (!id) {
      require<FileError>(next < UINT32_MAX, "added tokens: no number is left for '{}'",
                         token.content);
      id = static_cast<uint32_t>(next++);
    }
    std::string spelling = token.content;
    if (token.normalized && normalizer != nullptr) {
      NormalizedText text;
      text.assign(token.content);
      normalizer->apply(text);
      spelling = text.view();
    }
    ids_[token.content] = *id;
    if (token.special) special_.insert(token.content);
    entries_[*id] = {token, std::move(spelling)};
  }
  rebuild();
}

void AddedTokens::rebuild() {
  std::vector<Trie::Key> plain;
  std::vector<Trie::Key> normalized;
  for (const auto& [id, entry] : entries_)
    if (entry.token.found)
      (entry.token.normalized ? normalized : plain).push_back({entry.spelling, id});
  plain_ = Trie(std::move(plain));
  normalized_ = Trie(std::move(normalized));
}

void AddedTokens::extract(Pieces& pieces, bool normalized, bool split_special) const {
  const Trie& trie = normalized ? normalized_ : plain_;
  if (trie.empty()) return;
  pieces.split([&](std::string_view text, auto&& emit) {
    size_t open = 0;
    for (size_t at = 0; at < text.size();) {
      if (!trie.begins(static_cast<unsigned char>(text[at]))) {
        ++at;
        continue;
      }
      size_t size = 0;
      uint32_t id = 0;
      trie.prefixes(text.substr(at), [&](size_t longer, uint32_t value) {
        size = longer;
        id = value;
      });
      if (size == 0) {
        ++at;
        continue;
      }
      size_t begin = at;
      size_t end = at + size;
      at = end;
      const AddedToken& token = entries_.find(id)->second.token;
      if (split_special && special_.contains(token.content)) continue;
      if (token.single_word && (is_word_before(text, begin) || is_word_at(text, end))) continue;
      // Spaces that the token before has taken are gone.
      if (token.lstrip) begin = std::max(spaces_before(text, begin), open);
      if (token.rstrip) end = spaces_after(text, end);
      emit(open, begin);
      emit(begin, end, id);
      open = end;
    }
    emit(open, text.size());
  });
}

std::optional<uint32_t> AddedTokens::find(std::string_view token) const {
  const auto found = ids_.find(std::string(token));
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string* AddedTokens::token(uint32_t id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second.spelling;
}

const AddedToken* AddedTokens::get(uint32_t id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second.token;
}

size_t AddedTokens::count_beyond(const Vocabulary& model) const {
  return static_cast<size_t>(std::count_if(
      ids_.begin(), ids_.end(), [&](const auto& one) { return !model.find(one.first); }));
}

uint64_t AddedTokens::id_end() const {
  uint64_t end = 0;
  for (const auto& [id, entry] : entries_) end = std::max<uint64_t>(end, uint64_t{id} + 1);
  return end;
}

std::vector<AddedToken> read_added_tokens(const Json& list, const std::string& where) {
  require<FileError>(list.is_array(), "{}: must be a list, found {}", where, describe(list));
  std::vector<AddedToken> tokens;
  for (const Json& one : list) {
    const JsonFields fields(one, fmt::format("{}[{}]", where, tokens.size()));
    AddedToken token;
    token.content = fields.text("content");
    token.single_word = fields.boolean("single_word", false);
    token.lstrip = fields.boolean("lstrip", false);
    token.rstrip = fields.boolean("rstrip", false);
    token.special = fields.boolean("special", false);
    token.normalized = fields.boolean("normalized", !token.special);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace glassformer
