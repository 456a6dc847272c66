#include "text/train/lattice.h"

namespace glassformer {

void Lattice::build(std::string_view text, const PieceScores& pieces, uint32_t without) {
  size_ = static_cast<uint32_t>(text.size());
  edges_.clear();
  for (uint32_t begin = 0; begin < size_;) {
    const auto one = static_cast<uint32_t>(character_size(text[begin]));
    bool single = false;
    pieces.trie.prefixes(text.substr(begin), [&](size_t size, uint32_t piece) {
      const double score = pieces.scores[piece];
      if (score == PieceScores::kDropped || piece == without) return;
      edges_.push_back({begin, begin + static_cast<uint32_t>(size), piece, score});
      single |= size == one;
    });
    if (!single)
      edges_.push_back(
          {begin, begin + one, PieceScores::kUnknown, pieces.scores[PieceScores::kUnknown]});
    begin += one;
  }
}

void Lattice::add_expected(double count, std::vector<double>& expected) {
  before_.assign(size_ + 1, 0);
  after_.assign(size_ + 1, 0);
  // An edge is met after all that end where it begins, so that the sum there is complete.
  sums_.assign(size_ + 1, {});
  uint32_t place = 0;
  for (const Edge& edge : edges_) {
    if (edge.begin != place) before_[edge.begin] = sums_[edge.begin].value();
    place = edge.begin;
    sums_[edge.end].add(before_[edge.begin] + edge.score);
  }
  const double all = sums_[size_].value();
  sums_.assign(size_ + 1, {});
  for (size_t i = edges_.size(); i-- > 0;) {
    const Edge& edge = edges_[i];
    sums_[edge.begin].add(edge.score + after_[edge.end]);
    if (i == 0 || edges_[i - 1].begin != edge.begin) after_[edge.begin] = sums_[edge.begin].value();
  }
  for (const Edge& edge : edges_)
    expected[edge.piece] +=
        count * std::exp(before_[edge.begin] + edge.score + after_[edge.end] - all);
}

double Lattice::find_best() {
  before_.assign(size_ + 1, 0);
  best_.assign(size_ + 1, UINT32_MAX);
  for (uint32_t i = 0; i < edges_.size(); ++i) {
    const Edge& edge = edges_[i];
    const double score = before_[edge.begin] + edge.score;
    if (best_[edge.end] != UINT32_MAX && score <= before_[edge.end]) continue;
    before_[edge.end] = score;
    best_[edge.end] = i;
  }
  path_.clear();
  for (uint32_t end = size_; end > 0; end = edges_[best_[end]].begin)
    path_.push_back(edges_[best_[end]].piece);
  return before_[size_];
}

}  // namespace glassformer
