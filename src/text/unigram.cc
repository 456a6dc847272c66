#include "text/unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

constexpr double kUnknownPenalty = 10;
constexpr uint32_t kUnreached = UINT32_MAX;

// The sentencepiece library counts from 0 again where a float would lose too many digits. Paths
// have come as far as `reached`.
void keep_sums_small(ModelScratch& scratch, size_t begin, size_t reached) {
  constexpr double kLargest = 100000;
  const double base = scratch.scores[begin];
  if (std::abs(base) <= kLargest) return;
  for (size_t end = begin; end <= reached; ++end)
    if (end == begin || scratch.starts[end] != kUnreached)
      scratch.scores[end] = static_cast<float>(scratch.scores[end] - base);
}

}  // namespace

Unigram::Unigram(Vocabulary vocabulary, std::vector<double> scores, UnigramOptions options,
                 const std::string& where)
    : PieceModel(std::move(vocabulary)), scores_(std::move(scores)), options_(std::move(options)) {
  require<FileError>(!options_.unknown || *options_.unknown < scores_.size(),
                     "{}: unk_id must be one of {} tokens, found {}", where, scores_.size(),
                     options_.unknown.value_or(0));
  double lowest = std::numeric_limits<double>::infinity();
  for (const double score : scores_) lowest = std::min(lowest, score);
  unknown_score_ = options_.lowest.value_or(lowest) - kUnknownPenalty;
  if (options_.as_sentence_piece) unknown_score_ = static_cast<float>(unknown_score_);
  for (unsigned byte = 0; byte < 256; ++byte)
    byte_ids_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte)).value_or(Trie::kNone);
  std::vector<Trie::Key> keys;
  keys.reserve(vocabulary_.size());
  vocabulary_.each([&](std::string_view token, uint32_t id) {
    if (id >= options_.hidden.size() || !options_.hidden[id]) keys.push_back({token, id});
  });
  trie_ = Trie(std::move(keys));
}

uint32_t Unigram::unknown_id() const {
  require<ValueError>(options_.unknown.has_value(),
                      "tokenize: a character has no token, and the model has no unk_id");
  return *options_.unknown;
}

// For each end of a character: the score of the best path to it, where its last token begins, and
// that token.
void Unigram::find_best_path(std::string_view piece, ModelScratch& scratch) const {
  scratch.scores.assign(piece.size() + 1, 0);
  scratch.starts.assign(piece.size() + 1, kUnreached);
  scratch.ids.assign(piece.size() + 1, 0);
  size_t reached = 0;
  for (size_t begin = 0; begin < piece.size();) {
    if (options_.as_sentence_piece) keep_sums_small(scratch, begin, reached);
    const double base = scratch.scores[begin];
    const size_t one = character_size(piece[begin]);
    bool single = false;
    const auto offer = [&](size_t size, double score, uint32_t id) {
      const size_t end = begin + size;
      reached = std::max(reached, end);
      double sum = base + score;
      if (options_.as_sentence_piece) sum = static_cast<float>(sum);
      if (scratch.starts[end] != kUnreached && !(sum > scratch.scores[end])) return;
      scratch.scores[end] = sum;
      scratch.starts[end] = static_cast<uint32_t>(begin);
      scratch.ids[end] = id;
    };
    trie_.prefixes(piece.substr(begin), [&](size_t size, uint32_t id) {
      offer(size, scores_[id], id);
      single |= size == one;
    });
    if (!single) offer(one, unknown_score_, unknown_id());
    begin += one;
  }
}

void Unigram::add_unknown(std::string_view piece, uint32_t begin, uint32_t end,
                          std::vector<PieceToken>& tokens) const {
  const std::string_view text = piece.substr(begin, end - begin);
  // Together they may be a token, although the best path did not take it.
  if (const auto id = vocabulary_.find(text); id && !options_.as_sentence_piece) {
    tokens.push_back({*id, begin, end});
    return;
  }
  const auto known = [&](char byte) {
    return byte_ids_[static_cast<unsigned char>(byte)] != Trie::kNone;
  };
  if (options_.byte_fallback && std::all_of(text.begin(), text.end(), known)) {
    for (const char byte : text)
      tokens.push_back({byte_ids_[static_cast<unsigned char>(byte)], begin, end});
    return;
  }
  tokens.push_back({unknown_id(), begin, end});
}

void Unigram::tokenize(std::string_view piece, ModelScratch& scratch,
                       std::vector<PieceToken>& tokens) const {
  size_t slot = 0;
  if (const auto known = scratch.cache.find(piece, slot); !known.empty()) {
    tokens.insert(tokens.end(), known.begin(), known.end());
    return;
  }
  find_best_path(piece, scratch);
  // Walked from the end; the cuts are kept from the front. `sizes` holds the ends of the tokens.
  auto& ends = scratch.sizes;
  ends.clear();
  for (auto end = static_cast<uint32_t>(piece.size()); end > 0; end = scratch.starts[end])
    ends.push_back(end);
  const size_t first = tokens.size();
  uint32_t unknown_begin = 0;
  bool in_unknown = false;
  for (size_t i = ends.size(); i-- > 0;) {
    const uint32_t end = ends[i];
    const uint32_t begin = scratch.starts[end];
    const bool is_unknown = options_.unknown && scratch.ids[end] == *options_.unknown;
    if (is_unknown) {
      if (!in_unknown) unknown_begin = begin;
      in_unknown = true;
      if (i == 0) add_unknown(piece, unknown_begin, end, tokens);
      continue;
    }
    if (in_unknown) add_unknown(piece, unknown_begin, begin, tokens);
    in_unknown = false;
    tokens.push_back({scratch.ids[end], begin, end});
  }
  scratch.cache.insert(piece, slot, std::span(tokens).subspan(first));
}

std::string Unigram::spelling(const PieceToken& token, std::string_view piece) const {
  if (options_.unknown && token.id == *options_.unknown)
    return std::string(piece.substr(token.begin, token.end - token.begin));
  return PieceModel::spelling(token, piece);
}

}  // namespace glassformer
