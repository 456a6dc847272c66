#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/philox.h"
#include "glassformer/decoding/search.h"

namespace glassformer::testing {

// A language model of fixed random numbers: the logits after a sequence are a function of its last
// tokens.
class ToyModel {
 public:
  ToyModel(int64_t vocabulary, uint64_t seed, double spread = 3)
      : vocabulary_(vocabulary), seed_(seed), spread_(spread) {}

  std::vector<float> logits(std::span<const int64_t> ids) const {
    uint64_t history = 0;
    for (const int64_t id : ids) history = history * 1000003 + static_cast<uint64_t>(id) + 1;
    std::vector<float> row(static_cast<size_t>(vocabulary_));
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = static_cast<float>(spread_) * uniform_from_word(philox_word({seed_, history}, i));
    return row;
  }
  int64_t vocabulary() const { return vocabulary_; }

 private:
  int64_t vocabulary_;
  uint64_t seed_;
  double spread_;
};

// Runs a search to its end with whatever gives logits [vocabulary] for a sequence.
template <class Logits>
void run_search(Search& search, const std::vector<int64_t>& prompt, Logits&& logits) {
  std::vector<std::vector<int64_t>> live = {prompt};
  while (!live.empty()) {
    std::vector<float> rows;
    for (const auto& ids : live) {
      const std::vector<float> row = logits(ids);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    std::vector<std::vector<int64_t>> next;
    for (const Continuation& one : search.advance({.logits = rows})) {
      next.push_back(live[static_cast<size_t>(one.parent)]);
      next.back().push_back(one.token);
    }
    live = std::move(next);
  }
}

inline std::vector<Hypothesis> generate(const ToyModel& model, const GenerationOptions& options,
                                        SearchInput input) {
  input.vocabulary_size = model.vocabulary();
  const auto search = make_search(options, input);
  run_search(*search, input.prompt, [&](const auto& ids) { return model.logits(ids); });
  return search->results();
}

}  // namespace glassformer::testing
