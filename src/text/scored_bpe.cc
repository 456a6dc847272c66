#include "text/scored_bpe.h"

#include <algorithm>
#include <map>
#include <queue>

#include <fmt/format.h>

#include "text/utf8.h"

namespace glassformer {

// The symbols of one piece of text, and the joins on offer.
struct ScoredBpe::Work {
  struct Symbol {
    int32_t previous, next;
    uint32_t begin, size;  // size 0: it was joined with the one before
    bool whole;
  };
  struct Join {
    float score;
    int32_t left;
    uint32_t size;  // of the two, to see whether they are still what they were
    bool operator<(const Join& other) const {
      return score != other.score ? score < other.score : left > other.left;
    }
  };
  std::string_view text;
  std::vector<Symbol> symbols;
  std::priority_queue<Join> joins;
  std::map<std::string_view, uint32_t> halves;  // of unused pieces: where the left one ends
};

ScoredBpe::ScoredBpe(Vocabulary vocabulary, std::vector<float> scores, std::vector<Kind> kinds,
                     uint32_t unknown, bool byte_fallback)
    : PieceModel(std::move(vocabulary)),
      scores_(std::move(scores)),
      kinds_(std::move(kinds)),
      unknown_(unknown),
      byte_fallback_(byte_fallback),
      byte_ids_(256, unknown) {
  for (unsigned byte = 0; byte < 256; ++byte)
    byte_ids_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte)).value_or(unknown_);
  std::vector<Trie::Key> whole;
  vocabulary_.each([&](std::string_view token, uint32_t id) {
    if (kinds_[id] == Kind::kWhole) whole.push_back({token, id});
  });
  whole_ = Trie(std::move(whole));
}

std::optional<uint32_t> ScoredBpe::joined(std::string_view text) const {
  const auto id = vocabulary_.find(text);
  return id && kinds_[*id] != Kind::kHidden ? id : std::nullopt;
}

void ScoredBpe::offer(Work& work, int32_t left) const {
  if (left < 0) return;
  const Work::Symbol& a = work.symbols[static_cast<size_t>(left)];
  if (a.next < 0) return;
  const Work::Symbol& b = work.symbols[static_cast<size_t>(a.next)];
  if (a.whole || b.whole) return;
  const std::string_view text = work.text.substr(a.begin, a.size + b.size);
  const auto id = joined(text);
  if (!id) return;
  work.joins.push({scores_[*id], left, a.size + b.size});
  if (kinds_[*id] == Kind::kUnused) work.halves[text] = a.size;
}

void ScoredBpe::join_all(Work& work) const {
  for (size_t i = 0; i + 1 < work.symbols.size(); ++i) offer(work, static_cast<int32_t>(i));
  while (!work.joins.empty()) {
    const Work::Join join = work.joins.top();
    work.joins.pop();
    Work::Symbol& left = work.symbols[static_cast<size_t>(join.left)];
    if (left.size == 0 || left.next < 0) continue;
    Work::Symbol& right = work.symbols[static_cast<size_t>(left.next)];
    if (left.size + right.size != join.size) continue;
    left.size = join.size;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0) work.symbols[static_cast<size_t>(left.next)].previous = join.left;
    offer(work, left.previous);
    offer(work, join.left);
  }
}

void ScoredBpe::add(std::string_view text, uint32_t begin, const Work& work, int depth,
                    std::vector<PieceToken>& tokens) const {
  constexpr int kDeepest = 1000;
  const auto end = static_cast<uint32_t>(begin + text.size());
  const auto id = joined(text);
  if (id && kinds_[*id] == Kind::kUnused && depth < kDeepest) {
    if (const auto half = work.halves.find(text); half != work.halves.end()) {
      add(text.substr(0, half->second), begin, work, depth + 1, tokens);
      add(text.substr(half->second), begin + half->second, work, depth + 1, tokens);
      return;
    }
  }
  if (id) {
    tokens.push_back({*id, begin, end});
  } else if (byte_fallback_) {
    for (const char byte : text)
      tokens.push_back({byte_ids_[static_cast<unsigned char>(byte)], begin, end});
  } else if (!tokens.empty() && tokens.back().id == unknown_ && tokens.back().end == begin) {
    tokens.back().end = end;  // a run of unknown characters is one token
  } else {
    tokens.push_back({unknown_, begin, end});
  }
}

void ScoredBpe::tokenize(std::string_view piece, ModelScratch&,
                         std::vector<PieceToken>& tokens) const {
  Work work;
  work.text = piece;
  for (size_t at = 0; at < piece.size();) {
    size_t size = character_size(piece[at]);
    bool whole = false;
    whole_.prefixes(piece.substr(at), [&](size_t longer, uint32_t) {
      size = longer;
      whole = true;
    });
    const auto index = static_cast<int32_t>(work.symbols.size());
    at += size;
    work.symbols.push_back({index - 1, at < piece.size() ? index + 1 : -1,
                            static_cast<uint32_t>(at - size), static_cast<uint32_t>(size), whole});
  }
  join_all(work);
  for (const Work::Symbol& symbol : work.symbols)
    if (symbol.size > 0)
      add(piece.substr(symbol.begin, symbol.size), symbol.begin, work, 0, tokens);
}

std::string ScoredBpe::spelling(const PieceToken& token, std::string_view piece) const {
  if (token.id == unknown_) return std::string(piece.substr(token.begin, token.end - token.begin));
  return PieceModel::spelling(token, piece);
}

}  // namespace glassformer
