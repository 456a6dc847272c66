#include "text/word_piece.h"

#include <algorithm>

#include "base/check.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

void add_unknown(const Vocabulary& vocabulary, std::string_view unknown, std::string_view piece,
                 std::vector<PieceToken>& tokens) {
  const auto id = vocabulary.find(unknown);
  require<ValueError>(id.has_value(),
                      "tokenize: '{}' has no token, and the unknown token '{}' is not in the "
                      "vocabulary",
                      piece.substr(0, 60), unknown);
  tokens.push_back({*id, 0, static_cast<uint32_t>(piece.size())});
}

}  // namespace

WordPiece::WordPiece(Vocabulary vocabulary, std::string unknown, std::string prefix,
                     size_t longest_word)
    : PieceModel(std::move(vocabulary)),
      unknown_(std::move(unknown)),
      prefix_(std::move(prefix)),
      longest_word_(longest_word) {
  vocabulary_.each([&](std::string_view token, uint32_t) {
    longest_token_ = std::max(longest_token_, token.size());
  });
}

bool WordPiece::cut(std::string_view piece, ModelScratch& scratch,
                    std::vector<PieceToken>& tokens) const {
  for (size_t begin = 0; begin < piece.size();) {
    scratch.text.assign(begin > 0 ? prefix_ : std::string_view());
    const size_t before = scratch.text.size();
    scratch.text += piece.substr(begin, longest_token_);
    std::string_view candidate = scratch.text;
    // Down from the longest, always at the end of a character.
    while (candidate.size() > before) {
      const size_t end = begin + candidate.size() - before;
      if (end == piece.size() || !is_continuation(piece[end])) {
        if (const auto id = vocabulary_.find(candidate)) {
          tokens.push_back({*id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
          break;
        }
      }
      candidate.remove_suffix(1);
    }
    if (candidate.size() == before) return false;
    begin += candidate.size() - before;
  }
  return true;
}

void WordPiece::tokenize(std::string_view piece, ModelScratch& scratch,
                         std::vector<PieceToken>& tokens) const {
  size_t slot = 0;
  if (const auto known = scratch.cache.find(piece, slot); !known.empty()) {
    tokens.insert(tokens.end(), known.begin(), known.end());
    return;
  }
  const size_t first = tokens.size();
  if (count_characters(piece) > longest_word_ || !cut(piece, scratch, tokens)) {
    tokens.resize(first);
    add_unknown(vocabulary_, unknown_, piece, tokens);
  }
  scratch.cache.insert(piece, slot, std::span(tokens).subspan(first));
}

void WordLevel::tokenize(std::string_view piece, ModelScratch&,
                         std::vector<PieceToken>& tokens) const {
  if (const auto id = vocabulary_.find(piece)) {
    tokens.push_back({*id, 0, static_cast<uint32_t>(piece.size())});
  } else {
    add_unknown(vocabulary_, unknown_, piece, tokens);
  }
}

}  // namespace glassformer
