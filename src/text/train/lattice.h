#pragma once

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "text/trie.h"
#include "text/utf8.h"

namespace glassformer {

// The pieces of a Unigram model under training. Numbers stay when pieces are dropped, and so does
// the trie.
struct PieceScores {
  static constexpr uint32_t kUnknown = 0;  // the piece of a character that has none
  static constexpr double kDropped = -std::numeric_limits<double>::infinity();

  Trie trie;                   // texts to numbers, kUnknown left out
  std::vector<double> scores;  // kDropped for those that are no longer there; of kUnknown, what an
                               // unknown character costs
};

// All ways to cut a text into pieces: a graph whose edges are pieces and whose nodes are the places
// between characters.
class Lattice {
 public:
  struct Edge {
    uint32_t begin, end, piece;
    double score;
  };

  // `without`: a piece that may not be used.
  void build(std::string_view text, const PieceScores& pieces, uint32_t without = UINT32_MAX);

  // Adds `count` times the expected occurrences of each piece to `expected`.
  void add_expected(double count, std::vector<double>& expected);
  // The score of the best cut, whose pieces are then in path(), last one first.
  double find_best();
  const std::vector<uint32_t>& path() const { return path_; }

 private:
  // log(sum of exp(x)), one x at a time.
  struct LogSum {
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;
    void add(double x) {
      if (x <= largest) {
        sum += std::exp(x - largest);
      } else {
        sum = sum * std::exp(largest - x) + 1;
        largest = x;
      }
    }
    double value() const { return largest + std::log(sum); }
  };

  uint32_t size_ = 0;
  std::vector<Edge> edges_;  // by where they begin
  std::vector<LogSum> sums_;
  std::vector<double> before_, after_;  // of each place: the sum over all ways to it, and from it
  std::vector<uint32_t> best_;          // of each place: the edge of the best way to it
  std::vector<uint32_t> path_;
};

}  // namespace glassformer
