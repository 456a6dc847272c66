#pragma once

#include "decoding/endings.h"
#include "decoding/processor.h"

namespace glassformer {

// Greedy decoding, or num_return_sequences independent draws. In the steady state of greedy
// decoding nothing is allocated.
class SingleSearch : public Search {
 public:
  SingleSearch(const GenerationOptions& options, const SearchInput& input);

  std::span<const Continuation> advance(const StepScores& scores) override;
  void stop() override;
  std::vector<Hypothesis> results() const override;
  const BeamTree& tree() const override { return tree_; }

 private:
  struct Line {
    std::vector<int64_t> ids;  // prompt included
    std::vector<float> token_scores;
    std::optional<Ending> ending;
    int32_t node = -1;
  };
  struct Choice {
    int32_t token;  // -1: none is left
    float log_probability;
  };

  // What the draws from one row share.
  void prepare(std::span<const float> row);
  Choice choose(std::span<const float> row, size_t line);
  void add_node(Line& line, size_t index, const Choice& choice);

  GenerationOptions options_;
  size_t vocabulary_;
  Endings endings_;
  ProcessorChain processors_;
  std::vector<Line> lines_;
  std::vector<int32_t> live_;  // indices of lines
  bool started_ = false;
  std::vector<Continuation> continuations_;
  std::vector<float> weights_;  // sampling: e^(score − max) of the row at hand
  double weight_sum_ = 0;
  float max_ = 0, log_sum_ = 0;
  BeamTree tree_;
};

}  // namespace glassformer
