#include <cmath>
#include <map>

#include "base/check.h"
#include "glassformer/training/dataset.h"
#include "glassformer/training/metrics.h"

namespace glassformer {
namespace {

struct Counts {
  int64_t right = 0, predicted = 0, asked = 0;
};

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

ClassScores scores_of(const Counts& counts) {
  const auto right = static_cast<double>(counts.right);
  const auto predicted = static_cast<double>(counts.predicted);
  const auto asked = static_cast<double>(counts.asked);
  return {ratio(right, predicted), ratio(right, asked), ratio(2 * right, predicted + asked)};
}

std::map<int64_t, Counts> count(std::span<const int64_t> predictions,
                                std::span<const int64_t> targets) {
  require<ShapeError>(predictions.size() == targets.size(),
                      "metrics: expected a prediction for each of {} targets, found {}",
                      targets.size(), predictions.size());
  std::map<int64_t, Counts> counts;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == kIgnoredTarget) continue;
    ++counts[targets[i]].asked;
    ++counts[predictions[i]].predicted;
    counts[targets[i]].right += predictions[i] == targets[i];
  }
  return counts;
}

Counts sum(const std::map<int64_t, Counts>& counts) {
  Counts all;
  for (const auto& [label, one] : counts) {
    all.right += one.right;
    all.predicted += one.predicted;
    all.asked += one.asked;
  }
  return all;
}

}  // namespace

double accuracy(std::span<const int64_t> predictions, std::span<const int64_t> targets) {
  return scores_of(sum(count(predictions, targets))).recall;
}

ClassScores class_scores(std::span<const int64_t> predictions, std::span<const int64_t> targets,
                         Average average) {
  auto counts = count(predictions, targets);
  if (average == Average::kBinary) return scores_of(counts[1]);
  if (average == Average::kMicro) return scores_of(sum(counts));
  ClassScores mean;
  const auto classes = static_cast<double>(counts.size());
  for (const auto& [label, one] : counts) {
    const ClassScores scores = scores_of(one);
    mean.precision += scores.precision / classes;
    mean.recall += scores.recall / classes;
    mean.f1 += scores.f1 / classes;
  }
  return mean;
}

double perplexity(double loss) { return std::exp(loss); }

}  // namespace glassformer
