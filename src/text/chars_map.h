#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glassformer {

// SentencePiece's table of normalisation rules: a double-array trie over bytes, and the texts that
// its values point into.
class CharsMap {
 public:
  CharsMap() = default;
  // `blob`: the size of the trie in bytes (uint32), the trie, the texts, each ending with a zero.
  // Throws FileError, naming `where`.
  CharsMap(std::string_view blob, const std::string& where);

  bool empty() const { return trie_.empty(); }
  struct Rule {
    size_t size;                   // bytes of the text that it replaces
    std::string_view replacement;  // by this
  };
  // The shortest, or the longest, rule whose left side `text` begins with.
  std::optional<Rule> shortest(std::string_view text) const { return find(text, true); }
  std::optional<Rule> longest(std::string_view text) const { return find(text, false); }

 private:
  std::optional<Rule> find(std::string_view text, bool shortest) const;

  std::vector<uint32_t> trie_;
  std::string texts_;
};

// Throws FileError, naming `where`, for what is not base64.
std::string decode_base64(std::string_view text, const std::string& where);

}  // namespace glassformer
