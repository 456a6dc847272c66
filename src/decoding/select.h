#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace glassformer {

struct Candidate {
  float score;
  int32_t row;
  int32_t token;
};

// The k best of several rows, without sorting them. Equal scores: the earlier row, then the lower
// token, is better. Scores of −∞ and NaN are never chosen.
class TopCandidates {
 public:
  void start(size_t k);
  // `offset` is added to every score.
  void add(std::span<const float> row, int32_t index, float offset);
  // Best first; ends the selection.
  std::span<const Candidate> sorted();

 private:
  size_t k_ = 0;
  std::vector<Candidate> heap_;  // the worst is on top
};

// The token of the largest score, the first of equal ones; -1 where all are −∞ or NaN.
int32_t argmax(std::span<const float> row);

}  // namespace glassformer
